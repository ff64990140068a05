import xml.etree.ElementTree as ET

import pytest
from report.charts.test_spans import span_record
from report.stores import HTML, write_store

from longarena.records.folder import read_records
from longarena.report.charts import CHARTS
from longarena.report.charts.chart import Chart
from longarena.report.charts.chart_files import FONT, figures
from longarena.report.export import export

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    found = read_records(write_store(tmp_path_factory.mktemp("store")))
    found.spans.append(span_record("linear", 90.0))
    return found


def test_every_chart_is_a_vector_picture_with_its_names_in_it(records, tmp_path):
    paths = export(records, "all", "svg", tmp_path)
    # these have records of their own (test_generating.py, test_probes.py, test_translation.py,
    # test_fields.py, test_seeds.py)
    others = ("generation", "seeds", "fields", "state", "pairs", "depths", "translation")
    drawn = [name for name in CHARTS if name not in others]
    assert [path.name for path in paths] == [f"{name}.svg" for name in drawn]
    for path in paths:
        root = ET.fromstring(path.read_text())
        texts = {element.text for element in root.iter(f"{SVG}text")}
        assert root.tag == f"{SVG}svg"
        assert any(text and text.startswith("Linear Transformer") for text in texts)
        assert not list(root.iter(f"{SVG}b"))


def test_a_name_with_html_in_it_is_only_text(records, tmp_path):
    (path,) = export(records, "speed", "svg", tmp_path)
    texts = {element.text for element in ET.fromstring(path.read_text()).iter(f"{SVG}text")}
    assert HTML in texts


def test_pixels_are_white_paper_with_something_on_it(records, tmp_path):
    (path,) = export(records, "memory", "png", tmp_path)
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert width > 1500
    assert height > 900
    assert len(data) > 20_000


def test_a_document_for_papers_is_a_pdf(records, tmp_path):
    (path,) = export(records, "memory", "pdf", tmp_path)
    data = path.read_bytes()
    assert data.startswith(b"%PDF-")
    assert b"%%EOF" in data[-32:]


def panelled(labels):
    panel = {"name": "panel", "value": 0, "bind": {"input": "select", "labels": labels}}
    return Chart("picture", "Title", "caption", {"params": [panel], "config": {}})


def test_every_panel_is_a_figure_that_shows_it_for_good():
    chart = panelled(["Average", "Text, a/b", "Text: a b"])
    found = figures(chart)
    assert [figure.name for figure in found] == [
        "picture",
        "picture-text-a-b",
        "picture-text-a-b-2",
    ]
    assert [figure.spec["params"] for figure in found] == [
        [{"name": "panel", "value": number}] for number in range(3)
    ]
    assert [figure.spec["title"]["subtitle"] for figure in found] == [
        "Average",
        "Text, a/b",
        "Text: a b",
    ]
    assert {figure.spec["background"] for figure in found} == {"#fff"}
    assert {figure.spec["config"]["font"] for figure in found} == {FONT}
    assert "bind" in chart.spec["params"][0]
