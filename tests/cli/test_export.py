import json
import re
from pathlib import Path

import pytest
from cli.commands import assert_refused
from report.stores import write_store

from longarena.report.charts import CHARTS
from longarena.report.tables import TABLES


def test_tables_are_exported_from_the_records_of_the_runs(run, tmp_path):
    write_store(tmp_path / "runs/records")
    code, output, _ = run("export", "speed", "--format", "latex", "--out", "paper")
    assert (code, output) == (0, f"{tmp_path}/paper/speed.tex\n")
    assert r"\toprule" in (tmp_path / "paper/speed.tex").read_text()


def test_the_files_can_be_had_as_json(run, tmp_path):
    write_store(tmp_path / "results")
    _, output, _ = run("export", "memory", "--format", "svg", "--store", "results", "--json")
    assert json.loads(output) == ["export/memory.svg"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("export spedd", "did you mean speed"),
        ("export speed --format docx", "unknown format 'docx'"),
        ("export spans --format csv", "spans is a chart; choose the format svg, png or pdf"),
        ("export growth --format pdf", "growth is a table"),
        ("export all", "no records for all yet; run: longarena train"),
        ("export speed --format svg", "run: longarena measure"),
        ("export speed --store nowhere", "there is no folder nowhere"),
        ("fill nowhere.md", "nowhere.md"),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy_and_exit_code_2(run, words, answer):
    assert_refused(run(*words.split()), answer)


def test_a_stale_document_is_found_filled_and_then_found_to_be_right(run, tmp_path):
    write_store(tmp_path / "results")
    document = tmp_path / "README.md"
    document.write_text("<!-- table: memory results -->\n<!-- end -->\n")
    code, _, errors = run("fill", "--check")
    assert code == 2
    assert "run: longarena fill" in errors
    assert "MiB" not in document.read_text()
    assert run("fill")[:2] == (0, "README.md is new\n")
    assert "| Transformer | 512 MiB" in document.read_text()
    assert run("fill", "--check")[:2] == (0, "every table and chart is up to date\n")


PAGE = Path(__file__).parents[2] / "docs/papers.md"
COMMANDS = re.findall(r"^longarena (.+)$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "command",
    # what is drawn takes long, and other tests draw the same
    [
        pytest.param(words, marks=pytest.mark.everywhere)
        if " all " in words or words.startswith("draw")
        else words
        for words in COMMANDS
    ],
)
def test_every_command_of_the_page_on_papers_runs(run, command, tmp_path):
    write_store(tmp_path / "results")
    code, output, errors = run(*command.split())
    assert code == 0, errors
    assert output.splitlines()
    assert all(Path(line).stat().st_size for line in output.splitlines())


def test_the_page_on_papers_names_every_table_and_chart():
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert named == {*TABLES, *CHARTS}
