"""The order of the page as a table, for documents and papers."""

from findings.contestants import findings
from findings.test_answer import MEASUREMENTS, SCORES

from longarena.report.tables import TABLES
from longarena.table.markdown import markdown


def tables(measurements=MEASUREMENTS):
    return TABLES["answer"].make(findings(SCORES, measurements))


def test_everybody_stands_in_the_order_of_the_page():
    average, listops, text = tables()
    assert [each.name for each in (average, listops, text)] == [
        *("answer-arena", "answer-listops", "answer-text")
    ]
    rows = [[cell.text for cell in row.cells] for row in average.rows]

    def ratios(speed):
        return [f"{number}\N{MULTIPLICATION SIGN}" for number in (speed, "1.00", "1.00")]

    assert rows == [
        ["Linear Transformer", "tied with the best", "54.5", *ratios("1.50"), "yes"],
        ["Transformer", "best", "55.0", *ratios("1.00"), "yes"],
        ["FNet", "worse", "45.0", *ratios("4.50"), "no"],
    ]
    assert "54.5 (53.0 to 56.0)" in markdown(average)
    assert average.note.startswith("Take Linear Transformer: tied with the best average of 2 tasks")


def test_what_was_not_measured_is_a_dash():
    average, *_ = tables(measurements=[])
    assert all(cell.is_missing for row in average.rows for cell in row.cells[3:5])
    assert "not measured" in average.columns[3].line
