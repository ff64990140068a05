"""The answer of a choice on the page and among the tables."""

from choose.choices import choice, finalist, scoring, usual
from report.examples import run_record

from longarena.records.folder import Records, read_records, record_path, write_record
from longarena.report.findings import Findings
from longarena.report.page.page import render
from longarena.report.tables.choice import choice_tables
from longarena.table.markdown import markdown


def tables(*choices):
    return choice_tables(Findings.of(Records(choices=list(choices))))


def test_a_choice_is_read_as_it_was_written(tmp_path):
    path = write_record(tmp_path, usual())
    assert path == record_path(tmp_path, usual()) == tmp_path / "choice/listops/abc.json"
    assert read_records(tmp_path).choices == [usual()]


def test_the_table_has_the_standing_of_everybody():
    (table,) = tables(usual())
    standings = {row.cells[0].text: row.cells[1].text for row in table.rows}
    assert standings == {
        "Transformer": "tied with the best",
        "Local Attention": "take this",
        "S4D": "worse",
        "Linear Transformer": "dropped",
        "FNet": "left out",
    }
    local = table.rows[1].cells
    assert (local[2].text, local[4].text, local[5].text) == (
        "80.0",
        "3.10\N{MULTIPLICATION SIGN}",
        "0.50\N{MULTIPLICATION SIGN}",
    )
    assert "too slow: needs --minutes 90" in markdown(table)


def test_without_the_transformer_speeds_stand_alone():
    (table,) = tables(choice(finalist("local", scoring(0.9)), taken="local"))
    assert table.rows[0].cells[4].text == "10.0 steps/s"


def test_two_questions_have_tables_of_their_own_the_latest_first():
    later = usual(id="def", finished_at="2026-02-01T00:00:00+00:00", minutes=60)
    first, second = tables(usual(), later)
    assert "60 minutes" in first.note
    assert first.name != second.name


def test_the_page_answers_first_and_says_what_to_type():
    page = render(Records(choices=[usual()]))
    assert "Take Local Attention: as accurate as the Transformer within error" in page
    assert page.index('id="answer"') < page.index('id="families"')
    assert "longarena train listops local" in page
    assert "longarena.preset(&#34;listops&#34;" in page
    assert 'id="answer"' not in render(Records())


def test_what_a_choice_was_about_is_not_answered_twice():
    runs = [run_record("transformer", accuracy=0.3), run_record("linear", accuracy=0.5)]
    assert Findings.of(Records(runs=runs)).contests
    assert Findings.of(Records(runs=runs, choices=[usual()])).contests == []


def test_a_choice_of_nothing_is_shown_without_a_command():
    page = render(Records(choices=[choice(finalist("local", scoring(0.1)))]))
    assert "Take none yet" in page
    assert "Train it fully" not in page


def test_html_in_a_choice_is_only_text():
    hostile = usual().model_dump()
    hostile["entrants"][3]["reason"] = hostile["variant"] = "<script>alert(1)</script>"
    page = render(Records(choices=[usual().model_validate(hostile)]))
    assert "<script>alert" not in page
