"""The board of texts: less is better, and beside the scores stands how they were obtained."""

import pytest
from report.arena import run

from longarena.findings.details import conditions, other_levels
from longarena.findings.published import ENWIK8_BITS
from longarena.records.folder import Records
from longarena.records.record import Curve
from longarena.report.export import export
from longarena.report.findings import Findings
from longarena.report.page.page import write_page
from longarena.report.tables.published import published_bits
from longarena.tracks.language import Language

DETAILS = {"context": 512, "overlap": 256, "levels": {"bzip2 -9": 2.2, "xz -9": 2.1}}


def scored(mixer, bits, details=DETAILS, task="enwik8"):
    """A run of the preset with this score."""
    record = run(task, mixer, 0, "cpu")
    test = record.metrics.test.model_copy(update={"value": bits, "error": 0.01})
    metrics = record.metrics.model_copy(
        update={"test": test, "valid": test, "level": 5.0, "details": details}
    )
    curve = Curve(steps=[10, 20], seconds=[1.0, 2.0], values=[4.0, bits])
    return record.model_copy(update={"metric": Language.metric, "metrics": metrics, "curve": curve})


RECORDS = Records([scored("transformer", 2.5), scored("linear", 2.75), scored("s4d", 2.4)])


def test_texts_stand_on_a_board_of_their_own():
    [board] = Findings.of(RECORDS).boards
    assert (board.suite.name, board.preset) == ("language", "cpu")
    assert {line.row.mixer for line in board.comparable} == {"transformer", "linear", "s4d"}


def test_the_board_states_context_overlap_and_what_compressors_reach(tmp_path):
    [path] = export(RECORDS, "scores", "markdown", tmp_path)
    lines = path.read_text().splitlines()
    assert lines[0] == "| Mechanism | enwik8, context 512, overlap 256 |"
    assert "| S4D | **2.400** |" in lines
    assert lines[5:9] == [
        "| Mean over mechanisms | 2.550 ± 0.180 |",
        "| Without a model | 5.000 |",
        "| bzip2 -9 | 2.200 |",
        "| xz -9 | 2.100 |",
    ]
    assert "Language, preset cpu: test cross entropy, bits per byte" in lines[-1]


@pytest.mark.parametrize("kind", ["latex", "csv"])
def test_every_writer_has_them(kind, tmp_path):
    [path] = export(RECORDS, "scores", kind, tmp_path)
    text = path.read_text()
    assert "context 512" in text
    assert "xz -9" in text


def test_the_page_and_the_page_of_a_run_have_them(tmp_path):
    page = write_page(RECORDS, tmp_path).read_text()
    assert "context 512" in page
    assert "bzip2 -9" in page
    assert "90,000,000 bytes to train on" in page
    runs = [path.read_text() for path in (tmp_path / "runs").iterdir()]
    assert all("context 512, overlap 256" in text for text in runs)
    assert all("2.100 bits per byte" in text for text in runs)


@pytest.mark.parametrize(
    "details",
    [{}, {"context": "<b>", "overlap": None, "levels": [1]}, {"levels": {"x": "much"}}],
    ids=str,
)
def test_a_record_may_say_anything(details, tmp_path):
    record = scored("linear", 2.5, details)
    assert conditions(record) == []
    assert other_levels(record) == {}
    assert "<b>" not in write_page(Records([record]), tmp_path).read_text()


def test_published_bits_are_in_a_table_of_their_own():
    table = published_bits()
    [best] = [row for row in table.rows if row.cells[2].is_best]
    assert best.cells[0].text == "Compressive Transformer, 24 layers"
    assert all(0.9 < row.bits < 1.3 and row.source for row in ENWIK8_BITS)
    assert len({row.system for row in ENWIK8_BITS}) == len(ENWIK8_BITS)
