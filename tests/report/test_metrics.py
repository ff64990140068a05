"""Scores of any metric, known or not: less may be better, and nobody need know task or mixer."""

import json
import re
import sys

import pytest
from report.arena import run
from report.examples import measure_record, run_record
from rich.console import Console

from longarena.records.folder import Records
from longarena.records.record import Curve
from longarena.report.charts import CHARTS, draw_charts
from longarena.report.export import FORMATS, TABLE_WRITERS, export
from longarena.report.findings import Findings
from longarena.report.page.page import render, write_page
from longarena.report.tables import TABLES
from longarena.table.terminal import fit, terminal
from longarena.tracks.metric import Metric

BITS = Metric(name="bits", title="Bits per byte", unit="", better="less", decimals=3)
ELO = Metric(name="elo", title="Elo <b>", unit="points", better="more", decimals=0)
# importing this module opens a browser
FOREIGN = "antigravity:fly"
# the tables that a foreign run and measurement are in
SHOWN = {"scores", "minutes", "speed", "memory", "growth", "runs", "curves", "variations"}


def in_bits(record, bits, level=2.0):
    """The same run, scored in bits per byte."""
    test = record.metrics.test.model_copy(update={"value": bits, "error": 0.001})
    metrics = record.metrics.model_copy(
        update={"test": test, "valid": test, "level": level, "details": {}}
    )
    curve = Curve(steps=[10, 20], seconds=[1.0, 2.0], values=[1.9, bits])
    return record.model_copy(update={"metric": BITS, "metrics": metrics, "curve": curve})


SCORES = {
    ("listops", "transformer"): (1.20, 1.24),
    ("listops", "linear"): (1.10, 1.12),
    ("pathfinder", "transformer"): (1.50,),
    ("pathfinder", "linear"): (1.70,),
}
LESS = Records(
    runs=[
        in_bits(run(task, mixer, seed, "quick"), bits)
        for (task, mixer), found in SCORES.items()
        for seed, bits in enumerate(found)
    ],
    measurements=[measure_record("transformer", 1024, 4.0), measure_record("linear", 1024, 2.0)],
)


def exported(records, what, kind, tmp_path):
    return export(records, what, kind, tmp_path)[0].read_text()


def test_the_least_is_the_best_in_markdown(tmp_path):
    lines = exported(LESS, "scores", "markdown", tmp_path).splitlines()
    transformer, linear = lines[2], lines[3]
    assert transformer == ("| Transformer | 1.220 ± 0.028 | **1.500** | **1.360** (2 of 5 tasks) |")
    assert linear == "| Linear Transformer | **1.110 ± 0.014** | 1.700 | 1.405 (2 of 5 tasks) |"
    assert "test bits per byte" in lines[-1]
    assert "accuracy" not in "".join(lines)
    assert "%" not in "".join(lines)


def test_the_least_is_the_best_in_latex_and_csv_and_the_terminal(tmp_path):
    assert r"\textbf{1.110 $\pm$ 0.014}" in exported(LESS, "scores", "latex", tmp_path)
    assert "1.11" in exported(LESS, "scores", "csv", tmp_path).splitlines()[2]
    console = Console(width=200, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        table = TABLES["scores"].make(Findings.of(LESS))[0]
        console.print(terminal(table, fit(table, 200)))
    assert "\x1b[1m1.110" in capture.get()


def test_the_least_is_the_best_on_the_page_and_comes_first_when_sorted():
    text = render(LESS)
    best = re.findall(r'class="value best(?: partial)?">([\d.]+)<', text)
    assert best[:3] == ["1.500", "1.360", "1.110"]
    assert re.search(r'data-task="listops" data-first="ascending"', text)
    assert "Comparable: test bits per byte" in text


def test_the_average_of_more_tasks_comes_first_whichever_way_is_better():
    alone = in_bits(run("listops", "local", 0, "quick"), 0.5)
    table = TABLES["scores"].make(Findings.of(Records([*LESS.runs, alone])))[0]
    averages = [row.cells[3] for row in table.rows]
    in_order = sorted(averages, key=lambda cell: cell.sort_key)
    assert [cell.text for cell in in_order] == ["1.360", "1.405", "0.500"]
    assert [cell.is_best for cell in in_order] == [True, False, False]


def test_up_is_better_in_the_picture_and_the_front_is_of_the_least():
    (picture,) = draw_charts(Findings.of(LESS), ["picture"])
    front = picture.spec["datasets"]["front"]
    listops = [point["mixer"] for point in front if point["panel"] == 1]
    assert listops == ["Linear Transformer", "Transformer"]
    pathfinder = [point["mixer"] for point in front if point["panel"] == 2]
    assert pathfinder == ["Transformer"]
    level = next(layer for layer in picture.spec["layer"] if layer["mark"]["type"] == "rule")
    domain = level["encoding"]["y"]["scale"]["domain"]["expr"]
    low, high = (json.loads(part) for part in re.findall(r"(\[[^\[\]]+\])\[panel\]", domain))
    assert all(bottom > top for bottom, top in zip(low, high, strict=True))
    assert level["encoding"]["y"]["title"] == "test bits per byte"


def test_curves_are_named_by_their_metric():
    (curves,) = draw_charts(Findings.of(LESS), ["curves"])
    titles = {layer["encoding"]["y"]["title"] for layer in curves.spec["layer"]}
    assert titles == {"validation bits per byte"}


def test_families_are_ranked_by_the_least():
    (table,) = TABLES["families"].make(Findings.of(LESS))
    scores = {row.cells[2].text: row.cells[-1] for row in table.rows}
    assert scores["transformer"].note == "1 of 2"
    assert scores["linear"].text == "1.405"


def test_metrics_of_one_board_never_mix():
    runs = [*LESS.runs, *(run("image", mixer, 0, "quick") for mixer in ("transformer", "linear"))]
    runs = [record for record in runs if record.recipe.task.name != "pathfinder"]
    records = Records(runs, LESS.measurements)
    (board,) = Findings.of(records).boards
    assert {line.averages for line in board.comparable} == {(None, None)}
    table = TABLES["scores"].make(Findings.of(records))[0]
    names = {column.title: column.line for column in table.columns}
    assert names["ListOps"].endswith("bits per byte")
    assert names["Image"].endswith("accuracy, %")
    averages = [row.cells[at] for row in table.rows for at in averages_of(table)]
    assert averages
    assert all(cell.is_missing for cell in averages)
    (picture,) = draw_charts(Findings.of(records), ["picture"])
    (panel,) = (param for param in picture.spec["params"] if param["name"] == "panel")
    assert [label.rpartition(": ")[2] for label in panel["bind"]["labels"]] == [
        "bits per byte",
        "accuracy, %",
    ]


def averages_of(table):
    return [at for at, column in enumerate(table.columns) if column.role == "average"]


def foreign_records():
    """Runs of a task, a mixer, a preset and a metric that exist nowhere here."""
    task = run_record().recipe.task.model_copy(update={"name": FOREIGN, "version": 7})
    runs = [
        run_record(FOREIGN, seed, 0.4, task=task, preset="theirs", metric=ELO, variant="x=1")
        for seed in (0, 1)
    ]
    uneven = Curve(steps=[1, 2, 3], seconds=[], values=[0.1])
    runs += [run_record(FOREIGN, 2, 0.4, task=task, preset="theirs", metric=ELO, curve=uneven)]
    found = [measure_record(FOREIGN, length, 2.0) for length in (1024, 2048)]
    return Records(runs, found)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_foreign_record_is_in_everything_and_imports_nothing(kind, tmp_path):
    paths = export(foreign_records(), "all", kind, tmp_path)
    found = {path.stem for path in paths}
    wanted = {"scores-yours-theirs-free", "speed", "runs"} if kind in TABLE_WRITERS else {*CHARTS}
    others = {"seeds", "spans", "generation", "fields", "state", "pairs", "depths", "translation"}
    assert wanted - others <= found
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("name", TABLES)
def test_a_terminal_prints_every_table_of_foreign_records(name):
    console = Console(width=200)
    with console.capture() as capture:
        for table in TABLES[name].make(Findings.of(foreign_records())):
            console.print(terminal(table, fit(table, 200)))
    assert (FOREIGN in capture.get()) == (name in SHOWN)
    assert "antigravity" not in sys.modules


def test_a_foreign_record_is_shown_as_it_says_itself(tmp_path):
    text = exported(foreign_records(), "scores", "markdown", tmp_path)
    assert f"| {FOREIGN} (settings " in text
    assert "Tasks from outside, preset theirs: test elo &lt;b&gt;, points" in text


def test_the_page_of_a_foreign_record_is_shown_and_imports_nothing(tmp_path):
    records = foreign_records()
    text = write_page(records, tmp_path).read_text()
    assert "test elo &lt;b&gt;, points" in text
    assert "Elo <b>" not in text.partition("<script")[0]
    pages = [path.read_text() for path in (tmp_path / "runs").iterdir()]
    assert len(pages) == 3
    assert all("Test elo" in page for page in pages)
    assert "antigravity" not in sys.modules


def test_a_score_beyond_all_numbers_leaves_the_charts_readable():
    huge = ELO.model_copy(update={"scale": 1e308})
    run_ = run_record("linear", accuracy=0.9, metric=huge)
    test = run_.metrics.test.model_copy(update={"value": 1e9})
    run_ = run_.model_copy(update={"metrics": run_.metrics.model_copy(update={"test": test})})
    text = render(Records([run_, run_record()], LESS.measurements))
    found = re.search(r'id="specifications">(.*?)</script>', text, re.DOTALL).group(1)
    json.loads(found, parse_constant=pytest.fail)
