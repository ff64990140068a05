from itertools import groupby

import pytest
from report.arena import arena, run
from report.examples import measure_record

from longarena.attention import MIXERS
from longarena.attention.cards import card_of
from longarena.findings.families import family_table
from longarena.records.folder import Records


@pytest.fixture(scope="module")
def whole():
    """The table of a whole arena."""
    return family_table(arena())


def member(table, mixer):
    return next(each for each in table.members if each.mixer == mixer)


def test_without_records_every_mechanism_has_its_card_alone():
    table = family_table(Records())
    assert {each.mixer for each in table.members} == set(MIXERS)
    assert all(each.speed is each.memory is each.score is None for each in table.members)


def test_families_stand_together(whole):
    families = [each.card.family for each in whole.members]
    assert [family for family, _ in groupby(families)] == list(dict.fromkeys(families))


def test_the_fastest_and_the_smallest_are_first():
    table = family_table(
        Records(
            measurements=[
                measure_record("transformer", 2048, 1.0, 1000),
                measure_record("linear", 2048, 4.0, 500),
                measure_record("local", 2048, 2.0, 250),
                measure_record("linear", 4096, 9.0, 500),  # no Transformer to compare with
            ]
        )
    )
    linear, local = member(table, "linear"), member(table, "local")
    assert table.length == 2048
    assert (linear.speed.value, linear.speed.place, linear.speed.among) == (4.0, 1, 3)
    assert (linear.memory.value, linear.memory.place) == (0.5, 2)
    assert (local.speed.place, local.memory.place) == (2, 1)


def test_scores_are_ranked_among_those_that_did_the_same_tasks():
    runs = [
        run(task, name, 0) for task in ("listops", "text") for name in ("transformer", "linear")
    ]
    table = family_table(Records(runs=[*runs, run("text", "local", 0)]))
    assert (table.preset, table.num_tasks) == ("small", 2)
    assert member(table, "local").score is None
    assert {member(table, name).score.place for name in ("transformer", "linear")} == {1, 2}


def test_the_score_leaves_path_x_out(whole):
    assert whole.num_tasks == 5
    assert member(whole, "linear").score.among == len(MIXERS) - 1


def test_a_mechanism_of_a_users_own_is_shown_and_not_imported():
    table = family_table(Records(measurements=[measure_record(), measure_record("antigravity:X")]))
    assert member(table, "antigravity:X").card.family == "your own"
    assert card_of("antigravity:X").title == "antigravity:X"


def test_every_mechanism_of_the_table_is_there_once(whole):
    assert sorted(each.mixer for each in whole.members) == sorted(MIXERS)
