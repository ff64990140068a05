"""The table of what changes do, from records written by hand."""

import pytest
from report.examples import START, run_record
from report.tunings import PRESET_RATE, at_rate, tuning_record

from longarena.findings.boards import own_variant
from longarena.recipes.presets import preset
from longarena.recipes.pretraining import pretrained
from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.tables import TABLES
from longarena.table.table import DASH


def tables(*runs):
    return TABLES["variations"].make(Findings.of(Records(list(runs))))


def texts(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


def with_options(record, **options):
    model = record.recipe.model.model_copy(update={"options": options})
    recipe = record.recipe.model_copy(update={"model": model})
    return record.model_copy(update={"recipe": recipe, "id": recipe.id})


PLAIN = run_record("local", accuracy=0.34)


def test_one_setting_of_every_mechanism_is_no_study():
    assert tables(PLAIN, run_record("linear"), run_record("local", seed=1)) == []


def test_a_setting_is_what_differs_from_the_preset_in_options_data_and_training():
    (table,) = tables(
        with_options(PLAIN, block=16),
        with_options(PLAIN, block=4),
        PLAIN,
        run_record("local", variant=f"{PLAIN.variant},shuffle=all"),
        run_record("local", sets=["optimiser.rate=0.001"]),
        run_record("transformer"),
    )
    assert [row[:2] for row in texts(table)] == [
        ["Transformer", DASH],
        ["Local Attention", DASH],
        ["Local Attention", "block=4"],
        ["Local Attention", "block=16"],
        ["Local Attention", "optimiser.rate=0.001"],
        ["Local Attention", "shuffle=all"],
    ]


def test_how_many_steps_there_are_is_no_setting():
    longer = run_record("local", sets=["steps=800", "evaluate_every=100"], accuracy=0.4)
    (table,) = tables(PLAIN, longer, with_options(PLAIN, block=4))
    assert {row[1] for row in texts(table)} == {DASH, "block=4"}
    assert {row[5] for row in texts(table)} >= {"800"}


def test_a_row_has_score_error_seeds_and_time():
    seeds = [run_record("local", seed=seed, accuracy=value) for seed, value in ((0, 0.3), (1, 0.4))]
    (table,) = tables(*seeds, with_options(PLAIN, block=4))
    row = table.rows[0]
    assert [cell.text for cell in row.cells[:5]] == ["Local Attention", DASH, "35.0", "5.1", "2"]
    # half the distance of two seeds, and the error of 2,000 test examples
    assert row.cells[3].value == pytest.approx(100 * (0.05**2 + 0.2245 / 2000) ** 0.5, rel=1e-2)
    minutes, milliseconds = row.cells[6:]
    assert minutes.value == pytest.approx(48.2 / 60)
    assert milliseconds.value == pytest.approx(1000 / (41.5 * PLAIN.recipe.batch_size))


def test_the_minutes_are_those_of_both_parts_of_a_run():
    recipe = pretrained(PLAIN.recipe, 400)
    begun = PLAIN.model_copy(update={"recipe": recipe, "id": recipe.id, "start": START})
    (table,) = tables(PLAIN, begun)
    assert texts(table)[1][1] == "pretraining.steps=400"
    alone, both = (row.cells[6].value for row in table.rows)
    assert both - alone == pytest.approx(START.train_seconds / 60)


def test_what_is_not_above_chance_says_so():
    (table,) = tables(PLAIN, with_options(run_record("local", accuracy=0.18), block=4))
    assert [row.cells[2].note for row in table.rows] == ["", "chance"]
    assert "Without a model: 17.0%" in table.note


def test_what_diverged_has_no_score():
    (table,) = tables(PLAIN, with_options(run_record("local", accuracy=None), block=4))
    assert texts(table)[1][2] == "diverged"


def test_a_run_with_the_value_that_was_chosen_has_one_row():
    runs = [at_rate(PRESET_RATE), with_options(at_rate(0.04), materialised=True)]
    records = Records(runs, tunings=[tuning_record(PRESET_RATE)])
    (table,) = TABLES["variations"].make(Findings.of(records))
    assert len(table.rows) == len(runs)


def test_all_of_the_data_is_a_setting_where_the_preset_has_a_share():
    task, variants = preset("image", "local", "cpu").task, ("side=16,size=0.5", "side=16")
    runs = [run_record("local", preset="cpu", task=task, variant=each) for each in variants]
    (table,) = tables(*runs)
    assert ["size=1" in row[1].split(", ") for row in texts(table)] == [False, True]


def test_options_that_are_left_to_the_task_are_said_as_the_recipe_has_them():
    options = {"tokens": "bytes", "vocabulary": 8000, "max_length": 512}
    plain = preset("text", "local", "cpu").task
    task = plain.model_copy(update={"options": options})
    runs = [
        run_record("local", preset="cpu", task=plain, variant=own_variant("cpu", "text")),
        run_record("local", preset="cpu", task=task, variant="max_length=512,size=0.4"),
    ]
    (table,) = tables(*runs)
    assert "max_length=512, tokens=bytes, vocabulary=8000" in [row[1] for row in texts(table)][1]
