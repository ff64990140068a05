"""The tables and charts of the documents are what the committed records give."""

from pathlib import Path

import pytest
from report.examples import measure_record
from report.stores import write_store

from longarena.errors import UserError
from longarena.records.folder import write_record
from longarena.report.documents import Filling, documents_in, fill_document

ROOT = Path(__file__).parents[2]
README = """# Title

<!-- table: speed results -->
<!-- end -->

Between.

<!-- table: scores-arena-quick results -->
a stale table
<!-- end -->

<!-- chart: memory results -->
<!-- end -->

The end.
"""
DRAWING = Path("docs/pictures/results-memory.svg")


@pytest.fixture
def project(tmp_path):
    write_store(tmp_path / "results")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(README)
    (tmp_path / "docs/page.md").write_text("no table here\n")
    return tmp_path


@pytest.mark.parametrize("document", documents_in(ROOT), ids=lambda path: path.name)
def test_a_committed_document_shows_what_its_records_give(document):
    assert not fill_document(document, ROOT, is_dry=True), "run: longarena fill"


@pytest.mark.parametrize(("rows", "names"), [(1, 1), (100, 3)])
def test_a_number_of_rows_cuts_a_table_and_says_so(project, rows, names):
    page = project / "docs/page.md"
    page.write_text(f"<!-- table: speed results {rows} -->\n<!-- end -->\n")
    fill_document(page, project)
    shown = page.read_text()
    _, _, *lines = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(lines) == names
    assert ("The first 1 of 3 rows: Training steps" in shown) == (rows == 1)


@pytest.mark.parametrize(
    ("marker", "error"),
    [("chart: speed results 5", "a chart has no rows"), ("table: speed results 0", "needs a name")],
)
def test_a_number_of_rows_that_means_nothing_is_refused(project, marker, error):
    page = project / "docs/page.md"
    page.write_text(f"<!-- {marker} -->\n<!-- end -->\n")
    with pytest.raises(UserError, match=error):
        fill_document(page, project)


def test_tables_are_written_between_their_markers_and_nowhere_else(project):
    assert fill_document(project / "README.md", project)
    text = (project / "README.md").read_text()
    assert "| Linear Transformer | **5.00** (1.25" in text
    assert "| Transformer | **37.0 ± 1.4** |" in text
    assert "a stale table" not in text
    kept = [line for line in README.splitlines() if line and line != "a stale table"]
    assert [line for line in text.splitlines() if line in kept] == kept


def test_filling_twice_changes_nothing(project):
    fill_document(project / "README.md", project)
    before = (project / "README.md").read_text()
    assert not fill_document(project / "README.md", project)
    assert (project / "README.md").read_text() == before


def test_a_new_record_makes_a_table_stale(project):
    fill_document(project / "README.md", project)
    write_record(project / "results", measure_record("performer", 1024, 9.0, 2**20))
    assert fill_document(project / "README.md", project, is_dry=True)


def test_a_number_typed_by_hand_is_found(project):
    path = project / "README.md"
    fill_document(path, project)
    path.write_text(path.read_text().replace("**5.00**", "**5.01**"))
    assert fill_document(path, project, is_dry=True)
    assert "5.01" in path.read_text()
    fill_document(path, project)
    assert "5.01" not in path.read_text()


def test_a_chart_is_drawn_and_linked_from_where_the_document_is(project):
    chart = "<!-- chart: memory results -->\n<!-- end -->\n"
    (project / "docs/page.md").write_text(chart)
    fill_document(project / "README.md", project)
    fill_document(project / "docs/page.md", project)
    link = "![Memory against length]({})"
    assert link.format("docs/pictures/results-memory.svg") in (project / "README.md").read_text()
    assert link.format("pictures/results-memory.svg") in (project / "docs/page.md").read_text()
    drawing = (project / DRAWING).read_text()
    assert drawing.startswith("<svg") and "Linear Transformer" in drawing


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_text("<svg></svg>")])
def test_a_drawing_that_is_lost_or_another_is_drawn_again(project, spoil):
    fill_document(project / "README.md", project)
    before = (project / DRAWING).read_text()
    spoil(project / DRAWING)
    assert fill_document(project / "README.md", project, is_dry=True)
    assert fill_document(project / "README.md", project)
    assert (project / DRAWING).read_text() == before


def test_a_new_record_makes_a_drawing_stale(project):
    (project / "README.md").write_text("<!-- chart: memory results -->\n<!-- end -->\n")
    fill_document(project / "README.md", project)
    text, drawing = (project / "README.md").read_text(), (project / DRAWING).read_text()
    write_record(project / "results", measure_record("performer", 1024, 9.0, 2**20))
    assert fill_document(project / "README.md", project)
    assert (project / "README.md").read_text() == text
    assert (project / DRAWING).read_text() != drawing


def test_the_documents_of_a_project_are_found(project):
    assert [path.name for path in documents_in(project)] == ["README.md", "page.md"]


@pytest.mark.parametrize(
    ("marker", "answer"),
    [
        ("<!-- table: speed results -->\nno end\n", "needs a name, a folder"),
        ("<!-- table: speed -->\n<!-- end -->\n", "needs a name, a folder"),
        ("<!-- table: speed nowhere -->\n<!-- end -->\n", "there is no such folder"),
        ("<!-- table: spede results -->\n<!-- end -->\n", "names a table that results"),
        ("<!-- chart: speed -->\n<!-- end -->\n", "needs a name, a folder"),
        ("<!-- chart: spede results -->\n<!-- end -->\n", "names a chart that results"),
    ],
)
def test_a_marker_that_cannot_be_filled_is_refused(project, marker, answer):
    with pytest.raises(UserError, match=answer):
        Filling(project, project).fill(marker)
