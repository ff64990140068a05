import pytest

from longarena.attention import MIXERS
from longarena.findings.published import (
    COST_LENGTHS,
    LATER,
    LATER_SYSTEMS,
    NYSTROMFORMER,
    PAPER,
    PAPER_COSTS,
    SKYFORMER,
    SYSTEMS,
    TABLES,
    TASKS,
    PublishedScores,
    accuracy,
    cost_ratio,
)

ROWS = [row for table in TABLES for row in table.rows]
PRINTED = [row for row in ROWS if row.printed_average and row.accuracies]


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: row.system)
def test_a_printed_average_agrees_with_its_numbers_unless_a_note_says_otherwise(row):
    computed = row.average if row.accuracies[5] in ("fail", None) else row.average_with_path_x
    agrees = computed == pytest.approx(row.printed_average, abs=0.011)
    assert agrees or "average 51.48" in row.note


def test_both_rules_of_averaging_give_the_numbers_in_use():
    transformer = PAPER.rows[0]
    assert round(transformer.average, 2) == 54.39
    assert round(transformer.average_with_path_x, 2) == 53.66


def test_an_average_of_missing_numbers_is_none():
    row = PublishedScores("partly reported", (50.0, None, 50.0, 50.0, 50.0, "fail"))
    assert row.average is None
    assert row.average_with_path_x is None
    assert NYSTROMFORMER.rows[0].average_with_path_x is None


def test_every_row_is_complete_or_only_an_average():
    assert {len(row.accuracies) for row in ROWS} == {0, len(TASKS)}
    assert all(row.printed_average for row in ROWS if not row.accuracies)


def test_the_paper_has_eleven_systems_none_of_which_solves_path_x():
    assert len(PAPER.rows) == 11
    assert all(row.accuracies[5] == "fail" for row in PAPER.rows)


def test_later_systems_name_their_source():
    assert all(row.note for row in LATER.rows)


@pytest.mark.parametrize("row", PAPER_COSTS, ids=lambda row: row.system)
def test_costs_are_given_at_every_length(row):
    assert len(row.steps_per_second) == len(row.gigabytes) == len(COST_LENGTHS)


def test_what_was_recalled_is_marked():
    assert [table.title for table in TABLES if table.recalled] == [NYSTROMFORMER.title]


def test_a_mechanism_finds_its_published_accuracy():
    assert accuracy(PAPER, "bigbird", "pathfinder") == 74.87
    assert accuracy(PAPER, "bigbird", "path-x") == "fail"
    assert accuracy(PAPER, "poolingformer", "text") is None
    assert accuracy(NYSTROMFORMER, "local", "text") is None
    assert accuracy(PAPER, "bigbird", "pathfinder-64") is None


def test_costs_are_ratios_to_the_transformer_of_the_same_table():
    performer = cost_ratio("performer", 4096)
    assert performer.speed == pytest.approx(8.0 / 1.4)
    assert performer.memory == pytest.approx(1.06 / 9.48)
    assert cost_ratio("transformer", 1024).speed == 1.0


@pytest.mark.parametrize("mixer", ["longformer", "sparse", "mine:Own"])
def test_what_the_paper_did_not_time_has_no_ratio(mixer):
    assert cost_ratio(mixer, 1024) is None
    assert cost_ratio("linear", 512) is None


def test_a_later_mechanism_finds_the_accuracy_of_its_authors():
    assert accuracy(LATER, "mega", "image") == 90.44
    assert accuracy(LATER, "s4d", "path-x") == 91.95
    assert accuracy(PAPER, "mega", "image") is None
    assert set(LATER_SYSTEMS.values()) <= {row.system for row in LATER.rows}
    assert not set(LATER_SYSTEMS) & set(SYSTEMS)


def test_cosformer_finds_the_accuracy_of_its_authors_and_not_of_a_re_run():
    assert accuracy(LATER, "cosformer", "text") == 67.70
    assert accuracy(SKYFORMER, "cosformer", "text") == 63.54
    assert accuracy(LATER, "cosformer", "path-x") is None


def test_no_table_names_a_system_twice():
    for table in TABLES:
        systems = [row.system for row in table.rows]
        assert len(set(systems)) == len(systems), table.title


def test_every_system_of_the_paper_is_a_mechanism_here():
    assert set(SYSTEMS.values()) == {row.system for row in PAPER.rows}
    assert set(SYSTEMS) <= set(MIXERS)
