import math

import pytest

from longarena.measure.counting import count
from longarena.measure.summary import (
    count_growth_table,
    count_table,
    growth_table,
    growths,
    prediction_table,
    training_table,
)
from longarena.measure.work import SHAPES
from longarena.records.record import Cost, Limits, Measurement, MeasureRecord
from longarena.runtime import machine, versions

BATCH = 4


def record(mixer, length, seconds, peak=10**6, mixer_cost=100.0, **fields):
    rate = 1 / seconds
    metrics = Measurement(
        steps_per_second=rate,
        seconds_per_step=[seconds],
        tokens_per_second=rate * BATCH * length,
        peak_live_bytes=peak,
        peak_resident_bytes=2 * peak,
        parameters=1,
    )
    values = {
        "id": "0",
        "session": "s",
        "model": SHAPES["small"].with_mixer(mixer, {}),
        "length": length,
        "batch_size": BATCH,
        "metrics": metrics,
        "cost": Cost(
            parameters=1,
            attention=mixer_cost,
            convolution=0.0,
            feed_forward=100.0,
            head_and_embedding=50.0,
            training_step=750.0,
            activation_bytes=1,
        ),
        "limits": Limits(flops_per_second=6e6, copy_bytes_per_second=1.0),
        "machine": machine(),
        "versions": versions(),
        "finished_at": "2025-11-03T11:00:00+00:00",
    }
    return MeasureRecord(**values | fields)


def rows_of(table):
    """The texts of every row by the names of their columns."""
    names = [column.title for column in table.columns]
    return [dict(zip(names, (cell.text for cell in row.cells), strict=True)) for row in table.rows]


def rows_of_training(records):
    return rows_of(training_table(records))


def test_ratios_are_to_the_transformer_of_the_same_length():
    found = training_table(
        [
            record("transformer", 1000, 2.0, peak=10**8),
            record("linear", 1000, 0.5, peak=3 * 10**8),
            record("transformer", 2000, 8.0),
            record("linear", 2000, 1.0),
        ]
    )
    rows = rows_of(found)
    assert [row["speed"] for row in rows] == ["1.00x", "4.00x", "1.00x", "8.00x"]
    assert rows[1]["memory"] == "3.00x"


def test_a_share_of_the_limit_is_work_by_time_and_rate():
    [row] = rows_of_training([record("linear", 1000, 2.0)])
    # 4 * 1000 tokens of 2 * 750 operations in 2 s, where 6e6 operations a second are possible
    assert row["of the limit"] == "50%"
    assert row["speed"] == "\N{EN DASH}"


def test_what_was_not_measured_shows_why():
    [row] = rows_of_training([record("linear", 1000, 1.0, status="timed out", metrics=None)])
    assert row == {"length": "1,000", "mixer": "linear", "steps/s": "timed out"}
    assert prediction_table([record("linear", 1000, 1.0)]) is None


def test_a_mechanism_measured_again_has_a_row_of_its_own():
    rows = rows_of_training([record("linear", 1000, 1.0), record("linear", 1000, 1.0, repeat=1)])
    assert [row["mixer"] for row in rows] == ["linear", "linear #2"]


@pytest.mark.parametrize(
    ("seconds", "peak", "mixer_cost", "is_above"),
    [
        (2.0, 2.0, 1.0, False),
        (2.2, 2.1, 1.05, False),
        (4.0, 2.0, 1.0, True),
        (2.0, 4.0, 1.0, True),
        (2.0, 2.0, 2.0, True),
    ],
    ids=["as claimed", "nearly", "time", "memory", "operations"],
)
def test_growth_above_the_claim_is_flagged(seconds, peak, mixer_cost, is_above):
    records = [
        record("linear", 1024, 1.0, peak=1000, mixer_cost=100.0),
        record("linear", 2048, seconds, int(1000 * peak), 100.0 * mixer_cost),
    ]
    [found] = growths(records).values()
    assert found.is_above_claim == is_above
    assert (rows_of(growth_table(records))[0].get("") == "above its claim") == is_above


def test_a_machine_that_was_slower_at_one_length_makes_nothing_grow():
    def under(share):
        return Limits(
            flops_per_second=6e6, copy_bytes_per_second=1.0, typical_flops_per_second=share * 6e6
        )

    records = [
        record("linear", 1024, 1.0, limits=under(0.9)),
        record("linear", 2048, 6.0, limits=under(0.3)),
    ]
    [found] = growths(records).values()
    assert found.time == pytest.approx(1.0)


@pytest.mark.parametrize(("noise", "is_above"), [(0.01, True), (0.5, False)])
def test_noise_is_not_taken_for_growth(noise, is_above):
    def noisy(length, seconds):
        quiet = record("linear", length, seconds)
        turns = [
            seconds * factor for factor in (1 - noise, 1 - noise / 2, 1, 1 + noise / 2, 1 + noise)
        ]
        metrics = quiet.metrics.model_copy(update={"seconds_per_step": turns})
        return quiet.model_copy(update={"metrics": metrics})

    [found] = growths([noisy(1024, 1.0), noisy(2048, 2.5)]).values()
    assert found.time == pytest.approx(math.log2(2.5))
    assert found.is_above_claim == is_above


def test_one_length_has_no_growth():
    assert growths([record("linear", 1024, 1.0)]) == {}


@pytest.mark.parametrize(("mixer", "flag"), [("Misdeclared", "above its claim"), ("Honest", "")])
def test_a_mixer_that_claims_too_little_is_flagged_by_its_counts(mixer, flag):
    name = f"measure.own_mixers:{mixer}"
    counts = count([name], lengths=[128, 256, 512], shape=SHAPES["small"])
    [row] = rows_of(count_growth_table(counts))
    assert row.get("", "") == flag
    assert float(row["Mult-Adds of the mixer"]) > 1.5


def test_short_sequences_spend_most_in_the_feed_forward_and_long_ones_in_attention():
    # per token and layer 4 D D + 2 N D against 8 D D: they meet at N = 2 D
    shape = SHAPES["small"].model_copy(update={"mlp_width": 256})
    rows = rows_of(count_table(count(["transformer"], lengths=[64, 120, 136, 256], shape=shape)))
    assert [row["most in"] for row in rows] == ["feed-forward"] * 2 + ["attention"] * 2


def test_what_is_above_the_limit_is_marked():
    found = count(["linear"], lengths=[64, 128], shape=SHAPES["small"])
    limit = (found[0].mult_adds + found[1].mult_adds) / 2
    below, above = rows_of(count_table(found, limit))
    assert below[""] == ""
    assert above[""].startswith("above ")
    assert "" not in rows_of(count_table(found))[0]
