"""What a choice says in words, case by case."""

import pytest
from choose.choices import choice, finalist, scoring, usual
from pydantic import ValidationError

from longarena.findings.verdict import (
    conditions,
    in_order,
    python_lines,
    sentence,
    speed_ratio,
    train_command,
)
from longarena.records.choice import Entrant
from longarena.tracks.metric import Metric

BITS = Metric(name="bits", title="Bits per byte", unit="bits", better="less")


def test_a_tie_with_the_yardstick_is_said_with_speed_and_memory_at_the_length():
    assert sentence(usual()) == (
        "take Local Attention: as accurate as the Transformer within error, "
        "3.1 times as fast at your 3,400 tokens, with 0.5 times the memory"
    )


def test_one_that_is_better_than_the_yardstick_is_said_to_be():
    record = choice(
        finalist("s4d", scoring(0.9, 0.9, 0.8), 0.2),
        finalist("transformer", scoring(0.8, 0.9, 0.8), 0.1),
        taken="s4d",
    )
    assert sentence(record) == (
        "take S4D: more accurate than the Transformer (90.0% against 80.0%), "
        "2.0 times as slow at your 3,400 tokens"
    )


def test_the_best_is_named_if_another_one_is_taken():
    record = choice(
        finalist("local", scoring(0.89, 0.9, 0.8), 0.1),
        finalist("s4d", scoring(0.9, 0.9, 0.8), 0.2),
        finalist("transformer", scoring(0.8, 0.9, 0.8), 0.1),
        taken="local",
    )
    assert "(89.0% against 80.0%) and as accurate as the best, S4D, as fast" in sentence(record)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (0.7, "take Transformer: the most accurate beyond error"),
        (0.8, "take Transformer: as accurate as Local Attention within error, and faster"),
    ],
)
def test_the_yardstick_itself_may_be_taken(other, words):
    record = choice(
        finalist("transformer", scoring(0.81, 0.81, 0.81), 0.1),
        finalist("local", scoring(other, 0.81, 0.81), 0.2),
        taken="transformer",
    )
    assert sentence(record) == words


def test_without_the_yardstick_the_others_are_the_measure():
    record = choice(
        finalist("local", scoring(0.9)), finalist("s4d", scoring(0.7, 0.9)), taken="local"
    )
    assert sentence(record) == "take Local Attention: the most accurate beyond error"


def test_where_nothing_has_learnt_nothing_is_taken():
    record = choice(finalist("local", scoring(0.11)), finalist("s4d", scoring(0.1, 0.11)))
    assert sentence(record).startswith("take none yet: no mechanism is better than an answer")
    assert "(10.0%)" in sentence(record)
    assert "more --minutes" in sentence(record)
    assert train_command(record) is None
    assert python_lines(record) == []


@pytest.mark.parametrize(
    ("local", "s4d", "end"),
    [
        (True, False, "; its score still rose, so train it longer"),
        (True, True, "; its score still rose, so train it longer"),
        (False, True, "; with more time try S4D, whose score still rose"),
        (False, False, "at your 3,400 tokens"),
    ],
)
def test_more_time_is_mentioned_only_where_a_score_still_rose(local, s4d, end):
    record = choice(
        finalist("local", scoring(0.8, 0.81, 0.81, rises=local), 0.1),
        finalist("s4d", scoring(0.81, 0.81, 0.81, rises=s4d), 0.2),
        finalist("transformer", scoring(0.81, 0.81, 0.81), 0.2),
        taken="local",
    )
    assert sentence(record).endswith(end)


def test_one_that_rose_but_is_clearly_worse_is_not_mentioned():
    record = choice(
        finalist("local", scoring(0.9, 0.9), 0.1),
        finalist("s4d", scoring(0.5, 0.9, rises=True), 0.2),
        taken="local",
    )
    assert "S4D" not in sentence(record)


def test_other_metrics_are_good_or_better():
    record = choice(
        finalist("local", scoring(1.0, 1.0, 2.0), 0.1),
        finalist("transformer", scoring(2.0, 1.0, 2.0), 0.2),
        taken="local",
        metric=BITS,
        level=4.0,
    )
    assert "better than the Transformer (1.0 bits against 2.0 bits)" in sentence(record)
    assert [each.mixer for each in in_order(record)] == ["local", "transformer"]


def test_the_order_is_by_score_then_by_how_far_they_came():
    names = ["transformer", "local", "s4d", "linear", "fnet"]
    assert [each.mixer for each in in_order(usual())] == names


def test_options_are_part_of_the_name():
    record = choice(
        finalist("local[block=16]", scoring(0.9)),
        finalist("s4d", scoring(0.7, 0.9)),
        taken="local[block=16]",
    )
    assert "take Local Attention (block=16):" in sentence(record)


def test_ratios_are_unknown_without_the_transformer():
    entrant = finalist("local", scoring(0.9))
    assert speed_ratio(choice(entrant, taken="local"), entrant) is None


def test_the_conditions_count_who_took_part():
    assert conditions(usual()).startswith("4 mechanisms compared, 30 minutes given")


def test_the_command_and_the_lines_of_python_name_the_recipe():
    assert train_command(usual()).startswith("longarena train listops local --preset quick")
    assert (
        python_lines(usual())[1] == 'recipe = longarena.preset("listops", "local", "quick", seed=0)'
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"taken": "linear"},
        {"taken": "", "recipe": usual().recipe},
        {"recipe": None},
        {"entrants": [Entrant(mixer="a", fate="final", scores=[0.1] * 5)], "taken": ""},
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes):
    with pytest.raises(ValidationError):
        usual(**changes)
