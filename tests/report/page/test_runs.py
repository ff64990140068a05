import json
import re
from html import unescape

import pytest
from report.arena import failure, run
from report.examples import MACHINE, START, VERSIONS, run_record
from report.page.test_page import HOSTILE

from longarena.findings.changes import command
from longarena.records.folder import Records
from longarena.records.record import Curve
from longarena.report.findings import Findings
from longarena.report.links import run_lines
from longarena.report.page.curve import HEIGHT, WIDTH, draw_curve
from longarena.report.page.page import write_page
from longarena.report.page.runs import render_run, siblings
from longarena.report.tables.runs import run_tables

NO_CURVE = Curve(steps=[], seconds=[], values=[])


def text_of(record):
    (line,) = run_lines([record])
    return unescape(render_run(line, siblings([line])))


def test_a_run_has_its_recipe_whole_and_the_command_that_repeats_it():
    record = run_record("linear", seed=3, sets=["steps=1500"])
    text = text_of(record)
    assert "longarena train listops linear --preset quick --seed 3 --set steps=1500" in text
    assert command(record.recipe, record.machine) in text
    written = re.search(r"<code>(\{.*\})</code>", text, re.DOTALL).group(1)
    assert json.loads(written) == record.recipe.model_dump(mode="json")


def test_a_run_tells_its_machine_its_versions_and_its_data():
    text = text_of(run_record())
    for words in (MACHINE.processor, VERSIONS.commit, VERSIONS.torch, "f" * 16, "min_length=32"):
        assert words in text


def test_a_run_tells_what_it_began_with_and_its_cost():
    record = run_record(start=START)
    text = text_of(record)
    assert "400 steps, 1.67 min" in text
    assert "50.0% (without a model 25.0%)" in text
    assert "Pretraining" not in text_of(run_record())
    [table] = run_tables(Findings.of(Records(runs=[record])))
    pairs = zip(table.columns, table.rows[0].cells, strict=True)
    cells = {column.title: cell for column, cell in pairs}
    assert cells["Steps"].note == "after 400 of pretraining"
    assert cells["Minutes"].value == pytest.approx((100 + 48.2) / 60)


def test_the_confusion_matrix_has_a_row_per_class():
    record = run("text", "local", 0)
    counts = [[900, 100], [300, 700]]
    metrics = record.metrics.model_copy(update={"details": {"confusion": counts}})
    text = text_of(record.model_copy(update={"metrics": metrics}))
    cells = re.findall(r'--share: ([\d.]+)">(\d+)<', text)
    assert cells == [("0.900", "900"), ("0.100", "100"), ("0.300", "300"), ("0.700", "700")]
    assert re.findall(r'<td class="number">([\d.]+)</td></tr>', text) == ["90.0", "70.0"]


def test_a_run_without_a_confusion_matrix_has_a_page_too():
    assert "Confusion" not in text_of(run_record())


def test_a_failed_run_tells_its_error_and_its_command():
    text = text_of(failure("text", "local", 0, "the disk is full"))
    assert "the disk is full" in text
    assert "longarena train text local --preset small --seed 0" in text


def test_a_recipe_that_no_command_says_is_told_so():
    assert "No command line says this recipe" in text_of(run_record(preset="of the future"))


@pytest.mark.parametrize("name", [HOSTILE, "../../up", "a/b", ".", "x" * 200, "con\n"])
def test_an_id_that_is_no_plain_word_leads_nowhere_else(name, tmp_path):
    record = run_record(id=name)
    write_page(Records(runs=[record]), tmp_path / "out")
    (page,) = (tmp_path / "out" / "runs").iterdir()
    assert re.fullmatch(r"[0-9a-f]{16}\.html", page.name)
    assert sorted(path.name for path in tmp_path.rglob("*.html")) == [page.name, "index.html"]


def test_two_runs_of_one_id_have_two_pages():
    hrefs = [line.href for line in run_lines([run_record(id="Ab"), run_record(id="ab")])]
    assert hrefs == ["runs/Ab.html", "runs/ab-2.html"]


def test_seeds_of_one_result_lead_to_each_other():
    lines = run_lines([run_record(seed=1), run_record(seed=0), run_record("linear")])
    found = siblings(lines)
    assert [each.record.recipe.seed for each in found[lines[0].href]] == [0, 1]
    assert 'href="' + lines[1].href.removeprefix("runs/") in render_run(lines[0], found)
    assert "other seeds" not in render_run(lines[2], found)


def test_a_page_that_is_still_right_is_not_written_again(tmp_path):
    records = Records(runs=[run_record()])
    write_page(records, tmp_path)
    (page,) = (tmp_path / "runs").iterdir()
    before = page.stat().st_ino
    write_page(records, tmp_path)
    assert page.stat().st_ino == before
    page.write_text("old")
    write_page(records, tmp_path)
    assert page.read_text() != "old"


def test_no_script_runs_on_the_page_of_a_run():
    text = text_of(run_record())
    assert "default-src 'none'" in text
    assert "script" not in re.search(r'Policy" content="([^"]*)"', text).group(1)
    assert "<script" not in text


def test_a_curve_goes_through_its_points():
    drawing = draw_curve([50, 100], [20.0, 40.0], level=20.0)
    low, high = (float(drawing.values[i].label) for i in (0, -1))
    assert (low, high) == (20.0, 40.0)
    assert drawing.line == f"{WIDTH / 2},{float(HEIGHT)} {float(WIDTH)},0.0"
    assert [tick.label for tick in drawing.steps] == ["0", "25", "50", "75", "100"]


def test_a_curve_tells_the_time_at_its_steps():
    drawing = draw_curve([50, 100], [20.0, 40.0], level=20.0, seconds=[60.0, 180.0])
    assert [tick.label for tick in drawing.times] == ["0 s", "30 s", "1 min", "2 min", "3 min"]
    assert [tick.at for tick in drawing.times] == [tick.at for tick in drawing.steps]
    assert draw_curve([50, 100], [20.0, 40.0], level=20.0).times == ()


def test_the_page_of_a_run_at_chance_says_what_to_try():
    assert "What to try" not in text_of(run_record(accuracy=0.9, curve=NO_CURVE))
    text = text_of(run_record(accuracy=0.17))
    assert "--tune optimiser.rate=0.001," in text
    assert "longarena sweep --tasks listops --mixers transformer --preset quick --seeds 3" in text


def test_a_flat_curve_and_an_empty_one_are_drawn_or_left_out():
    assert draw_curve([10], [50.0], level=50.0).line == f"{float(WIDTH)},{float(HEIGHT)}"
    assert draw_curve([], [], level=50.0) is None
    assert "Learning curve" not in text_of(run_record(curve=NO_CURVE))


def test_a_long_curve_keeps_its_end():
    steps = list(range(1, 5001))
    drawing = draw_curve(steps, [step / 5000 for step in steps], level=0.1)
    assert drawing.line.count(" ") < 250
    assert drawing.end == (float(WIDTH), 0.0)
