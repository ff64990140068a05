from report.tunings import at_rate, tuning_record

from longarena.records.folder import Records
from longarena.records.tuning import Candidate
from longarena.report.export import export
from longarena.report.findings import Findings
from longarena.report.page.page import render
from longarena.report.tables import TABLES

HOSTILE = "<img src=x>"


def tables(*tunings, kind="tuning", runs=()):
    return TABLES[kind].make(Findings.of(Records(list(runs), tunings=list(tunings))))


def words(cell):
    return [part.text for line in cell.details for part in line]


def test_the_table_says_which_rate_each_mechanism_wanted():
    (table,) = tables(tuning_record(0.04, "linear"), tuning_record(0.01))
    assert table.name == "tuning-quick"
    assert "optimiser.rate of 0.0025, 0.01, 0.04" in table.note
    cells = {row.cells[0].text: row.cells[1] for row in table.rows}
    transformer, linear = cells["Transformer"], cells["Linear Transformer"]
    assert list(cells) == ["Transformer", "Linear Transformer"]
    assert (transformer.text, transformer.value, transformer.note) == ("0.01", 0.01, "")
    assert (linear.text, linear.note) == ("0.04", "edge")
    assert words(transformer) == ["0.0025: 30.0%", "0.01: 40.0%", "0.04: 30.0%"]
    assert words(linear)[0] == "edge of the grid"


def test_scores_from_before_the_end_say_at_which_step_and_what_diverged_says_so():
    found = tuning_record(0.01)
    scores = ([0.2], [0.3, 0.4], [None])
    told = [
        c.model_copy(update={"scores": s}) for c, s in zip(found.candidates, scores, strict=True)
    ]
    halved = found.model_copy(update={"candidates": told, "rungs": [50, 100]})
    assert halved.recipe.steps > 100
    (table,) = tables(halved)
    assert words(table.rows[0].cells[1]) == [
        "0.0025: 20.0% at step 50",
        "0.01: 40.0% at step 100",
        "0.04: diverged at step 50",
    ]


def test_several_keys_stand_in_one_cell():
    found = tuning_record(0.01)
    pairs = [
        Candidate(run=c.run, values=c.values | {"schedule.kind": "cosine"}, scores=c.scores)
        for c in found.candidates
    ]
    grid = found.grid | {"schedule.kind": ["cosine"]}
    (table,) = tables(found.model_copy(update={"candidates": pairs, "grid": grid}))
    assert table.rows[0].cells[1].text == "0.01, cosine"
    assert not table.columns[1].is_number


def test_other_values_or_presets_have_a_table_of_their_own():
    names = [
        table.name for table in tables(tuning_record(0.01), tuning_record(0.01, rates=(0.01, 0.1)))
    ]
    assert names == ["tuning-quick", "tuning-quick-2"]


def test_a_board_of_tuned_results_says_so_and_what_was_chosen():
    runs = [at_rate(0.01), at_rate(0.04, "linear"), at_rate(0.01, "local")]
    plain, tuned = tables(
        tuning_record(0.01), tuning_record(0.04, "linear"), kind="scores", runs=runs
    )
    assert (plain.name, tuned.name) == ("scores-arena-quick", "scores-arena-quick-tuned")
    assert tuned.title.startswith("Long Range Arena, preset quick, tuned:")
    assert "optimiser.rate of 0.0025, 0.01, 0.04" in tuned.note
    assert "optimiser.rate=0.04" in words(tuned.rows[1].cells[1])
    assert (len(plain.rows), len(tuned.rows)) == (2, 2)


def test_the_table_is_exported_in_every_format(tmp_path):
    records = Records(tunings=[tuning_record(0.04)])
    (text,) = export(records, "tuning", "csv", tmp_path)
    assert text.read_text() == "Mechanism,ListOps,ListOps note\nTransformer,0.04,edge\n"
    (text,) = export(records, "tuning", "markdown", tmp_path)
    assert "| Transformer | 0.04 (edge) |" in text.read_text()
    assert export(records, "tuning", "latex", tmp_path)


def test_the_page_has_a_section_where_there_are_tunings():
    text = render(Records([at_rate(0.04)], tunings=[tuning_record(0.04)]))
    assert '<section id="tuning"' in text
    assert '<a href="#tuning">' in text
    assert "preset quick, tuned" in text
    assert '<section id="tuning"' not in render(Records([at_rate(0.04)]))


def test_a_foreign_tuning_never_breaks_the_page():
    found = tuning_record(0.04)
    alien = found.model_copy(
        update={
            "recipe": found.recipe.model_copy(
                update={
                    "preset": HOSTILE,
                    "task": found.recipe.task.model_copy(update={"name": HOSTILE}),
                    "model": found.recipe.model.model_copy(update={"mixer": HOSTILE}),
                }
            ),
            "variant": HOSTILE,
        }
    )
    # the id of the chosen run changes with its recipe
    told = [
        alien.candidates[0].model_copy(
            update={"run": alien.recipe.id, "values": {HOSTILE: [HOSTILE]}}
        )
    ]
    alien = alien.model_copy(update={"candidates": told, "grid": {HOSTILE: [[HOSTILE]]}})
    text = render(Records(tunings=[alien]))
    assert HOSTILE not in text
    assert "&lt;img" in text
