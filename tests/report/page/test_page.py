import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from report.examples import MACHINE, measure_record, run_record

from longarena.records.folder import Records, write_record
from longarena.report import report
from longarena.report.page.page import render, write_page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"
SCRIPT = re.compile(r"<script(?P<kind>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)


def test_a_store_becomes_a_page(tmp_path):
    write_record(tmp_path / "store", run_record("linear", accuracy=0.3456))
    (tmp_path / "store" / "broken.json").write_text("{")
    path = report(tmp_path / "store", tmp_path / "out")
    text = path.read_text()
    assert path == tmp_path / "out" / "index.html"
    assert ">34.6<" in text
    assert "broken.json" in text


def test_an_empty_store_says_what_to_run(tmp_path):
    text = report(tmp_path, tmp_path / "out").read_text()
    assert "longarena tour" in text
    assert 'id="accuracy"' not in text
    assert "vegaEmbed=" not in text  # nothing to draw, nothing to carry


def test_the_answer_stands_above_every_table_and_chart():
    measured = [measure_record("transformer"), measure_record("linear", speed=8.0)]
    scores = {"transformer": 0.34, "linear": 0.5}
    runs = [run_record(mixer, accuracy=accuracy) for mixer, accuracy in scores.items()]
    text = render(Records(runs=runs, measurements=measured))
    before, _, after = text.partition("<strong>Take Linear Transformer</strong>: the best on List")
    assert "<table" not in before
    picture, table = after.index('data-chart="picture"'), after.index("<table")
    assert after.index("2.0 times as fast as the Transformer at 1K") < picture < table


def test_where_nothing_can_be_compared_the_page_says_what_to_run():
    text = render(Records(runs=[run_record("linear")]))
    assert "No answer yet" in text
    assert "longarena sweep --tasks listops --mixers transformer,linear,s4d" in text
    assert 'id="fragments"' not in text


def test_a_suite_without_runs_says_how_to_make_them():
    text = render(Records(runs=[run_record("linear")]))
    assert 'id="suite-arena"' in text
    assert 'id="suite-probes"' not in text
    assert 'Probes (<code class="all">longarena sweep --tasks recall' in text


def test_the_page_says_what_was_reached_after_minutes_and_where():
    text = render(Records(runs=[run_record("linear"), run_record("transformer")]))
    section = text.partition('<div class="minutes" id="minutes"')[2].partition("</section>")[0]
    assert re.findall(r"<button[^>]*>([^<]+)<", section) == [
        *("Mechanism", "1 min", "5 min", "20 min")
    ]
    assert section.count(">34.0<") == 6
    assert "Example Processor 9000, 2 cores, 2 threads" in section
    assert 'id="minutes"' not in render(Records())


def test_a_quick_page_keeps_the_published_numbers_apart():
    text = render(Records(runs=[run_record()]))
    ours, theirs = text.split('<section id="published"')
    assert "54.39" not in ours
    assert "54.39" in theirs
    assert "Not comparable with the leaderboard" in theirs


def hostile_records():
    machine = MACHINE.model_copy(update={"processor": HOSTILE})
    hostile = {"variant": HOSTILE, "machine": machine, "preset": HOSTILE}
    runs = [run_record(HOSTILE, id=HOSTILE, **hostile), run_record("transformer", **hostile)]
    measurements = [measure_record(HOSTILE, machine=machine), measure_record(HOSTILE, 2048, None)]
    return Records(runs, measurements, {Path(HOSTILE): HOSTILE})


def test_html_in_a_record_is_only_text():
    text = render(hostile_records())
    without_scripts = SCRIPT.sub("", text)
    assert "<img src=x" not in without_scripts
    assert "alert(1)&lt;/script&gt;" in without_scripts
    assert "{{ 7 * 7 }}" in without_scripts
    assert len(SCRIPT.findall(text)) == 6


def test_the_data_of_the_charts_survives_the_embedding():
    found = dict(SCRIPT.findall(render(hostile_records())))
    specs = json.loads(found[' type="application/json" id="specifications"'])
    assert specs["speed"]["datasets"]["points"][0]["mixer"] == HOSTILE
    words = json.loads(found[' type="application/json" id="fragments"'])
    assert HOSTILE in [each["title"] for each in words["mechanisms"]]


def test_only_the_scripts_of_the_page_may_run():
    text = render(Records(runs=[run_record()]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    scripts = [script for kind, script in SCRIPT.findall(text) if not kind]
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = re.findall(r"sha256-([^& ]+)", policy.replace("&#39;", " "))
    assert len(scripts) == 4
    assert allowed == digests
    assert "default-src &#39;none&#39;" in policy
    assert "script-src &#39;unsafe-inline" not in policy


def test_the_page_carries_everything_it_needs():
    text = SCRIPT.sub("", render(Records(runs=[run_record()], measurements=[measure_record()])))
    assert not re.findall(r"<(?:link|iframe|script)\b|<img src=\"(?!data:)|url\(|@import", text)


def test_a_page_is_a_function_of_its_records(tmp_path):
    records = Records(runs=[run_record()], measurements=[measure_record()])
    first = write_page(records, tmp_path / "a").read_text()
    assert first == write_page(records, tmp_path / "b").read_text()


@pytest.mark.parametrize(
    ("reason", "shown"), [("needs 40 GB", "needs 40 GB"), ("", "out of memory")]
)
def test_what_did_not_fit_is_shown_with_its_reason(reason, shown):
    text = render(Records(measurements=[measure_record(speed=None, reason=reason)]))
    assert f'<span class="failed">{shown}</span>' in text
