from report.examples import MACHINE, VERSIONS, run_record

from longarena.records.folder import Records
from longarena.records.record import SpanRecord
from longarena.report.charts.palette import COLOURS
from longarena.report.charts.spans import draw_spans
from longarena.report.findings import Findings


def span_record(mixer, mean_span, seed=0, variant=""):
    recipe = run_record(mixer, seed=seed).recipe
    return SpanRecord(
        id=f"{mixer}-{seed}",
        recipe=recipe,
        variant=variant,
        fingerprint="f" * 16,
        samples=10,
        mean_length=200.0,
        mean_span=mean_span,
        spans=[[mean_span]],
        machine=MACHINE,
        versions=VERSIONS,
        finished_at="2025-11-03T12:00:00+00:00",
    )


def spans(records):
    return draw_spans(Findings.of(Records(spans=records)))


def test_a_bar_is_the_mean_over_the_runs_of_a_mechanism_on_a_task():
    records = [span_record("transformer", 40.0), span_record("transformer", 60.0, seed=1)]
    records += [span_record("linear", 90.0), span_record("linear", 10.0, variant="tiny")]
    bars = spans(records)["datasets"]["spans"]
    assert [(bar["task"], bar["mixer"], bar["span"], bar["runs"]) for bar in bars] == [
        ("ListOps", "Linear Transformer", 90.0, 1),
        ("ListOps", "Transformer", 50.0, 2),
        ("ListOps, tiny", "Linear Transformer", 10.0, 1),
    ]


def test_a_bar_says_its_share_of_the_sequence_and_which_data_only_if_there_are_several():
    (bar,) = spans([span_record("linear", 50.0, variant="tiny")])["datasets"]["spans"]
    assert (bar["task"], bar["label"]) == ("ListOps", "Linear Transformer, 25% of 200")


def test_bars_have_the_colours_of_the_families():
    spec = spans([span_record("linear", 90.0)])
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale == {"domain": ["kernels"], "range": [COLOURS["kernels"]]}


def test_without_records_there_is_no_chart():
    assert spans([]) is None


def test_a_run_that_was_looked_at_twice_counts_once():
    later = span_record("linear", 30.0).model_copy(update={"finished_at": "2026-01-01"})
    (bar,) = spans([later, span_record("linear", 90.0)])["datasets"]["spans"]
    assert (bar["span"], bar["runs"]) == (30.0, 1)
