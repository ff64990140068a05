"""The tables of scores after minutes, from curves written by hand."""

from findings.test_minutes import RISE_AND_FALL, timed
from report.examples import MACHINE, run_record

from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.tables import TABLES
from longarena.table.table import DASH


def table_of(*runs):
    (table,) = TABLES["minutes"].make(Findings.of(Records(list(runs))))
    return {row.cells[0].text: row.cells[1:] for row in table.lines}


def test_the_table_has_a_dash_before_the_first_validation_and_a_mark_after_the_end():
    rows = table_of(
        timed(points=RISE_AND_FALL), timed("linear", [(100.0, 0.35), (2000.0, 0.6)], accuracy=0.6)
    )
    texts = {name: [(cell.text, cell.note) for cell in cells] for name, cells in rows.items()}
    assert texts["Transformer"] == [("20.0", ""), ("40.0", "ended"), ("40.0", "ended")]
    assert texts["Linear Transformer"] == [(DASH, ""), ("35.0", ""), ("35.0", "")]
    assert texts["Without a model"] == [("17.0", "")] * 3


def test_the_best_of_a_minute_is_marked_if_it_is_better_than_no_model():
    rows = table_of(
        timed(points=[(30.0, 0.17), (300.0, 0.3)]),
        timed("linear", [(30.0, 0.16), (300.0, 0.4)]),
        timed("performer", [(30.0, 0.1), (300.0, 0.9)], sets=["model.depth=4"]),
    )
    marks = {name: [cell.is_best for cell in cells] for name, cells in rows.items()}
    assert marks["Transformer"] == [False, False, False]
    assert marks["Linear Transformer"] == [False, True, True]
    assert marks["Performer"] == [False, False, False]  # another recipe, so not to be compared


def test_seeds_are_averaged_and_those_without_a_score_are_told():
    rows = table_of(
        timed(points=[(30.0, 0.2)]),
        timed(points=[(50.0, 0.4)], seed=1),
        timed(points=[(90.0, 0.6)], seed=2),
    )
    first, second, _ = rows["Transformer"]
    assert (first.text, first.spread_text, first.note) == ("30.0", "14.1", "2 of 3 seeds, ended")
    assert (second.text, second.note) == ("40.0", "ended")


def test_every_board_and_task_has_a_table_with_a_name_of_its_own():
    pathfinder = run_record().recipe.task.model_copy(update={"name": "pathfinder"})
    one = MACHINE.model_copy(update={"threads": 1})
    runs = [
        timed(points=RISE_AND_FALL),
        timed(points=RISE_AND_FALL, machine=one, seed=1),
        timed(points=RISE_AND_FALL, task=pathfinder),
    ]
    tables = TABLES["minutes"].make(Findings.of(Records(runs)))
    assert [table.name for table in tables] == [
        "minutes-arena-quick-listops",
        "minutes-arena-quick-listops-2",
        "minutes-arena-quick-pathfinder",
    ]
    assert "1 thread." in tables[0].note
