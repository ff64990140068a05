"""A leaderboard marks what cannot be told from the best of its column."""

import numpy as np
from findings.contestants import findings
from findings.test_comparison import EXAMPLES, answered
from report.examples import run_record

from longarena.findings.scores import Row, score_table
from longarena.findings.ties import standings, ties
from longarena.records.folder import Records, read_records, write_record
from longarena.report.findings import Findings
from longarena.report.tables.scores import score_tables


def accurate(mixer, accuracy):
    """A run whose record tells the accuracy of its answers."""
    run = answered(mixer, accuracy)
    value = float(run.answers.scores.mean())
    error = np.sqrt(value * (1 - value) / EXAMPLES)
    test = run.record.metrics.test.model_copy(update={"value": value, "error": error})
    metrics = run.record.metrics.model_copy(update={"test": test})
    return run.record.model_copy(update={"metrics": metrics}), run.answers


ACCURACIES = {"transformer": 0.6, "linear": 0.6, "local": 0.4}
FOUND = {mixer: accurate(mixer, accuracy) for mixer, accuracy in ACCURACIES.items()}


def scores_of(records):
    table = score_table(records)
    return {row: score for (row, _), score in table.scores.items()}


def test_what_the_answers_do_not_tell_from_the_best_is_tied():
    answers = {record.id: found for record, found in FOUND.values()}
    scores = scores_of(record for record, _ in FOUND.values())
    found = ties(scores, lambda record: answers[record.id])
    assert len(found) == 1
    assert found < {Row("transformer"), Row("linear")}


def test_without_answers_the_errors_tell():
    scores = scores_of(record for record, _ in FOUND.values())
    assert len(ties(scores, lambda _: None)) == 1
    same = scores_of([run_record("linear", accuracy=0.34), run_record("local", accuracy=0.345)])
    assert ties(same, lambda _: None) == {Row("linear")}


def test_where_nobody_is_better_than_chance_nobody_is_tied():
    scores = scores_of([run_record("linear", accuracy=0.17), run_record(accuracy=0.17)])
    assert ties(scores, lambda _: None) == frozenset()


def test_the_table_says_so(tmp_path):
    for record, answers in FOUND.values():
        write_record(tmp_path, record, answers)
    records = read_records(tmp_path)
    assert len(records.answers) == 3
    (table,) = score_tables(Findings.of(records))
    notes = {row.cells[0].text: row.cells[1].note for row in table.rows}
    assert sorted(notes.values()) == ["", "", "tied"]
    assert notes["Local Attention"] == ""
    details = [row.cells[1].details[-1][0].text for row in table.rows]
    assert sum("tied with the best (-" in each for each in details) == 1
    assert sum(" behind the best (" in each for each in details) == 1
    assert "Tied: not told apart" in table.note


def test_a_table_without_ties_does_not_speak_of_them():
    runs = [run_record(accuracy=0.6), run_record("linear", accuracy=0.3)]
    (table,) = score_tables(Findings.of(Records(runs=runs)))
    assert "Tied" not in table.note


def test_runs_are_told_how_they_stand():
    answers = {record.id: found for record, found in FOUND.values()}
    records = [record for record, _ in FOUND.values()]
    found = standings(records, lambda record: answers[record.id])
    assert sorted(found.values()) == ["best", "tied"]
    assert FOUND["local"][0].id not in found
    assert standings(records[:1], lambda _: None) == {}


def test_ties_of_averages_are_marked_over_the_same_tasks_alone():
    two = {"listops": 0.4, "text": 0.7}
    near, far = {"listops": 0.39, "text": 0.69}, {"listops": 0.2, "text": 0.6}
    scores = {"transformer": two, "linear": near, "local": far, "fnet": {"text": 0.7}}
    (table, *_) = score_tables(findings(scores))
    average = [column.title for column in table.columns].index("Average")
    notes = {row.cells[0].text: row.cells[average].note for row in table.rows}
    assert notes == {
        "Transformer": "2 of 5 tasks",
        "Linear Transformer": "2 of 5 tasks, tied",
        "Local Attention": "2 of 5 tasks",
        "FNet": "1 of 5 tasks",
    }
