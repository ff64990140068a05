import math

import pytest
from report.arena import LENGTHS, measurement
from report.examples import measure_record

from longarena.findings.costs import cost_tables
from longarena.findings.growth import growths
from longarena.findings.scores import Row
from longarena.records.record import Limits


def fitted(records):
    (table,) = cost_tables(records)
    return growths(table)


def test_a_power_law_gives_its_exponent():
    records = [measure_record("linear", n, 1e6 / n**1.5, n**2) for n in (1024, 2048, 4096)]
    found = fitted(records)[Row("linear")]
    assert found.time == pytest.approx(1.5)
    assert found.memory == pytest.approx(2.0)
    assert found.mult_adds is None
    assert found.claimed == pytest.approx(1.0)
    assert found.is_above_claim


def test_counts_grow_too_and_what_keeps_its_claim_is_not_flagged():
    found = fitted([measurement("linear", n) for n in LENGTHS])[Row("linear")]
    assert found.mult_adds == pytest.approx(1.0)
    assert not found.is_above_claim


def test_a_logarithm_in_the_claim_counts():
    lengths = (512, 2048)
    found = fitted([measure_record("fnet", n, 1e6 / n, n) for n in lengths])[Row("fnet")]
    # from 9 to 11 doublings
    assert found.claimed == pytest.approx(1 + math.log(11 / 9, 4))


def test_one_length_shows_no_growth():
    assert fitted([measure_record()]) == {}


def test_a_mechanism_of_a_users_own_claims_nothing():
    found = fitted([measure_record("antigravity:X", n, 1e9 / n**3) for n in (1024, 2048)])
    assert found[Row("antigravity:X")].claimed is None
    assert not found[Row("antigravity:X")].is_above_claim


def test_the_share_of_the_limit_is_two_operations_per_mult_add():
    record = measurement("linear", 1024)
    (table,) = cost_tables([record])
    operations = 2 * record.cost.training_step * record.metrics.tokens_per_second
    share = table.costs[Row("linear"), 1024].limit_share
    assert share == pytest.approx(operations / record.limits.flops_per_second)


def with_turns(record, *seconds):
    metrics = record.metrics.model_copy(update={"seconds_per_step": list(seconds)})
    return record.model_copy(update={"metrics": metrics})


def at_pace(record, pace):
    limits = Limits(
        flops_per_second=1e11, copy_bytes_per_second=1e10, typical_flops_per_second=pace * 1e11
    )
    return record.model_copy(update={"limits": limits})


def test_a_time_that_noise_explains_is_not_flagged():
    records = [measure_record("linear", n, 1e6 / n**1.5, n) for n in (1024, 2048)]
    assert fitted(records)[Row("linear")].is_above_claim
    noisy = [with_turns(record, 0.5, 1.0, 2.0) for record in records]
    assert not fitted(noisy)[Row("linear")].is_above_claim


def test_a_machine_that_was_slower_at_one_length_is_allowed_for():
    pace = {1024: 1.0, 2048: 0.5}
    records = [at_pace(measure_record("linear", n, pace[n] * 1e6 / n, n), pace[n]) for n in pace]
    assert fitted(records)[Row("linear")].time == pytest.approx(1.0)
