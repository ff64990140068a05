"""The table and the chart of seeds, from curves written by hand."""

from findings.test_seeds import FALLS_BACK, LEARNS, STAYS, drawn

from longarena.records.folder import Records
from longarena.report.charts import CHARTS
from longarena.report.findings import Findings
from longarena.report.page.page import render
from longarena.report.tables import TABLES
from longarena.table.table import DASH

RECORDS = Records(
    [
        *(drawn(curve, seed) for seed, curve in enumerate([LEARNS, STAYS, FALLS_BACK])),
        *(drawn(STAYS, seed, "linear") for seed in range(3)),
        drawn(LEARNS, 0, "local"),
    ]
)


def test_the_table_counts_seeds_and_says_when():
    (table,) = TABLES["seeds"].make(Findings.of(RECORDS))
    rows = {row.cells[0].text: [(c.text, c.note) for c in row.cells[1:]] for row in table.rows}
    assert rows == {
        "Transformer": [
            *[("3", ""), ("2 of 3", ""), ("25", "20 to 30")],
            *[("1 of 3", ""), ("30", "")],
        ],
        "Linear Transformer": [
            *[("3", ""), ("0 of 3", ""), (DASH, "")],
            *[("0 of 3", ""), (DASH, "")],
        ],
    }
    assert table.name == "seeds-arena-quick-listops"
    assert "(17.0%)" in table.note


def test_the_chart_has_a_line_for_every_seed():
    spec = CHARTS["seeds"].draw(Findings.of(RECORDS))
    points = spec["datasets"]["points"]
    lines = {(point["mixer"], point["seed"]) for point in points}
    assert len(lines) == 6
    assert len(points) == 18
    details = [layer["encoding"].get("detail") for layer in spec["layer"]]
    assert ["mixer", "seed"] in [[each["field"] for each in d] for d in details if d]


def test_the_page_shows_them_where_there_are_several_seeds():
    assert 'id="table-seeds-arena-quick-listops"' in render(RECORDS)
    assert 'class="seeds"' not in render(Records([drawn(LEARNS)]))
