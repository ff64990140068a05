"""Results of the preset `own`: a board of their own, beside what was published for each."""

import pytest
from report.examples import run_record

from longarena.findings.boards import own_variant
from longarena.recipes.presets.own import RECIPES, own
from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.page.environment import environment
from longarena.report.tables.beside import beside_scores
from longarena.report.tables.scores import board_tables, score_tables

NO_FILTERS = {"preset": [], "task": [], "family": []}


@pytest.fixture
def found(monkeypatch):
    """Runs of two mechanisms under the recipes of their authors; `mine` is not in the papers."""
    # somebody of the table must have a recipe, or nobody knows what data the preset asks for
    monkeypatch.setitem(RECIPES, "linear", RECIPES["s5"])
    monkeypatch.setitem(RECIPES, "mine:Own", RECIPES["s5"])
    own_variant.cache_clear()
    yield Findings.of(Records(runs=[run("s5", 0.881), run("mine:Own", 0.9)]))
    own_variant.cache_clear()


def run(mixer, accuracy):
    recipe = own("image", mixer, 0)
    return run_record(mixer, accuracy=accuracy, recipe=recipe, id=recipe.id, variant="")


def test_the_board_is_free_and_says_that_the_recipes_differ(found):
    [table] = score_tables(found)
    assert table.name == "scores-arena-own-free"
    assert "the recipe of its own authors" in table.note
    assert "A factor" not in table.note
    assert {row.cells[1].text for row in table.rows} == {"88.1", "90.0"}
    assert not any(cell.is_best for row in table.rows for cell in row.cells)


def test_a_score_stands_beside_the_one_of_the_authors(found):
    [table] = beside_scores(found)
    [row] = table.rows  # nobody published anything of `mine`
    assert [cell.text for cell in row.cells[1:]] == ["88.1", "88.00"]
    assert [column.details for column in table.columns[1:]] == [("here",), ("theirs",)]
    assert "Theirs: read in the places" in table.note


def test_the_page_says_so_too(found):
    template = environment().get_template("leaderboard.html")
    section = template.render(boards=board_tables(found), filters=NO_FILTERS, failures=[])
    assert "not which one is better" in section
    assert "was run in the column to compare with" not in section
