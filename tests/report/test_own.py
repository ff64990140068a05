"""Results of the preset `own`: a board of their own, beside what was published for each."""

import pytest
from report.examples import measure_record, run_record

from longarena.attention import MixerCard, OwnMixer
from longarena.findings.boards import own_variant
from longarena.recipes.presets.own import RECIPES, own
from longarena.records.folder import Records
from longarena.report.charts import draw_charts
from longarena.report.findings import Findings
from longarena.report.page.environment import environment
from longarena.report.page.page import render
from longarena.report.page.suites import suite_views
from longarena.report.tables.beside import beside_scores
from longarena.report.tables.scores import score_tables
from longarena.table.latex import latex
from longarena.table.table import DASH

CARD = MixerCard(name="mine:Own", title="My <own>", family="kernels", colour="#123456")


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
    assert [(cell.text, cell.note) for cell in row.cells[1:]] == [
        ("88.1", ""),
        (DASH, ""),
        ("88.00", "matched"),
    ]
    assert [c.details for c in table.columns[1:]] == [("here",), ("paper",), ("theirs",)]
    assert "Theirs: read in the places" in table.note


def test_the_best_of_a_column_is_compared_whoever_it_is(found):
    [table] = beside_scores(found)
    [best] = table.footers
    assert [(cell.text, cell.note) for cell in best.cells] == [
        ("Best of the column", ""),
        ("88.1", ""),
        ("44.24", "beaten"),
        ("91.88", ""),
    ]


@pytest.mark.parametrize(
    ("accuracy", "note"), [(0.95, "beaten"), (0.885, "matched"), (0.875, "matched"), (0.8, "")]
)
def test_a_published_number_is_beaten_or_matched_by_three_standard_errors(accuracy, note):
    [table] = beside_scores(Findings.of(Records(runs=[run("s5", accuracy)])))
    assert table.rows[0].cells[3].note == note


def test_the_page_says_so_too(found):
    template = environment().get_template("suite.html")
    (view,) = suite_views(found, found)
    section = template.module.suite(view, [], is_first=True)
    assert "not which one is better" in section
    assert "was run in the column to compare with" not in section


def carded(record, of_model):
    """Give a record the card of a mixer that nobody can import."""
    own = OwnMixer(source="ab", card=CARD)
    if of_model:
        return record.model_copy(update={"model": record.model.model_copy(update={"own": own})})
    model = record.recipe.model.model_copy(update={"own": own})
    recipe = record.recipe.model_copy(update={"model": model})
    return record.model_copy(update={"recipe": recipe})


@pytest.fixture
def carded_records():
    own = carded(run_record("mine:Own", accuracy=0.4), of_model=False)
    measured = carded(measure_record("mine:Own", 1024, 9.0), of_model=True)
    return Records(runs=[run_record(), own], measurements=[measure_record(), measured])


def test_the_card_of_ones_own_is_on_the_page_and_in_latex(carded_records):
    (table,) = score_tables(Findings.of(carded_records))
    assert [row.filters["family"] for row in table.rows] == ["kernels", "full attention"]
    assert r"My \textless{}own\textgreater{}" in latex(table)
    page = render(carded_records)
    assert "My &lt;own&gt;" in page
    assert "My <own>" not in page


def test_a_colour_of_its_own_is_in_every_chart(carded_records):
    charts = {chart.name: chart.spec for chart in draw_charts(Findings.of(carded_records))}
    for name in ("picture", "curves"):
        assert "'#123456'" in str(charts[name])
        families = {point["mixer"]: point["family"] for point in charts[name]["datasets"]["points"]}
        assert families == {"Transformer": "full attention", "My <own>": "My <own>"}
