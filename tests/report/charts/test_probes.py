"""The charts of the probes: state, pairs, and length by depth."""

import pytest
from report.examples import run_record

from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.records.folder import Records
from longarena.report.charts import CHARTS, draw_charts
from longarena.report.charts.chart_files import WRITERS, figures
from longarena.report.findings import Findings


def probe(mixer, accuracy, details, task="recall", *, seed=0, sets=()):
    recipe = override(preset(task, "transformer", "cpu", seed), sets)
    record = run_record(mixer, seed, accuracy, task=recipe.task, preset="cpu")
    metrics = record.metrics.model_copy(update={"details": details})
    model = recipe.model.model_copy(update={"mixer": mixer})
    recipe = recipe.model_copy(update={"model": model})
    variant = ",".join(sets)
    changes = {"recipe": recipe, "id": recipe.id, "metrics": metrics, "variant": variant}
    return record.model_copy(update=changes)


def draw(*runs):
    found = Findings.of(Records(list(runs)))
    return {chart.name: chart for chart in draw_charts(found)}


def values(chart, field, dataset="points"):
    return [point[field] for point in chart.spec["datasets"][dataset]]


def test_state_and_score_of_every_mechanism_that_has_both():
    drawn = draw(
        probe("transformer", 0.99, {"state_bytes": 65536}),
        probe("linear", 0.5, {"state_bytes": 8192}),
        probe("performer", 0.4, {"state_bytes": 16384}),
        probe("s4d", 0.2, {}),
    )["state"]
    points = zip(*(values(drawn, field) for field in ("mixer", "x", "y")), strict=True)
    assert set(points) == {
        ("Transformer", 65536, 99.0),
        ("Performer", 16384, 40.0),
        ("Linear Transformer", 8192, 50.0),
    }
    # less state is better: local carries more than linear and scores less
    assert values(drawn, "mixer", "front") == ["Linear Transformer", "Transformer"]
    assert values(drawn, "y", "levels") == [17.0]


def test_recall_is_drawn_over_pairs_for_those_with_several():
    four, eight = (
        [probe(m, a, {}, sets=[f"task.pairs={n}"]) for m, a in scores.items()]
        for n, scores in ((4, {"transformer": 0.99, "linear": 0.8}), (8, {"linear": 0.3}))
    )
    drawn = draw(*eight, *four)["pairs"]
    points = zip(*(values(drawn, field) for field in ("mixer", "x", "y")), strict=True)
    assert set(points) == {("Linear Transformer", 4, 80.0), ("Linear Transformer", 8, 30.0)}
    assert "pairs" not in draw(*four)


def test_runs_that_differ_in_more_than_pairs_are_in_other_panels():
    plain = [probe("linear", 0.5, {}, sets=[f"task.pairs={n}"]) for n in (4, 8)]
    longer = [probe("linear", 0.4, {}, sets=[f"task.pairs={n}", "task.length=128"]) for n in (4, 8)]
    assert sorted(values(draw(*plain, *longer)["pairs"], "panel")) == [0, 0, 1, 1]


LENGTHS = {
    "lengths": [
        {"length": 64, "value": 0.9, "error": 0.01, "depths": [1.0, 0.8, None]},
        {"length": 256, "value": 0.3, "error": 0.01, "depths": [0.2, 0.4, 0.3]},
    ]
}


def test_a_cell_is_the_mean_over_seeds_at_a_length_and_depth():
    other = {"lengths": [{"length": 64, "value": 0.5, "error": 0.01, "depths": [0.5, None, 0.4]}]}
    drawn = draw(
        probe("transformer", 0.9, LENGTHS, "induction"),
        probe("transformer", 0.5, other, "induction", seed=1),
    )["depths"]
    cells = {
        (point["length"], point["depth"]): (point["value"], point["seeds"])
        for point in drawn.spec["datasets"]["depths"]
    }
    assert cells == {
        (64, 0): (75.0, 2),
        (64, 1): (80.0, 1),
        (64, 2): (40.0, 1),
        (256, 0): (20.0, 1),
        (256, 1): (40.0, 1),
        (256, 2): (30.0, 1),
    }


def test_tasks_are_panels_of_the_depths():
    runs = [probe("transformer", 0.9, LENGTHS, task) for task in ("induction", "passkey")]
    drawn = draw(*runs)["depths"]
    assert set(values(drawn, "panel", "depths")) == {0, 1}
    assert len(figures(drawn)) == 2


@pytest.mark.parametrize("name", ["state", "pairs", "depths"])
def test_the_charts_can_be_files(name):
    runs = [
        probe("linear", 0.5, {"state_bytes": 8192} | LENGTHS, sets=[f"task.pairs={n}"])
        for n in (4, 8)
    ]
    svg = WRITERS["svg"](figures(draw(*runs)[name])[0].spec).decode()
    assert "Linear Transformer" in svg


def test_without_probes_there_are_no_such_charts():
    assert not {"state", "pairs", "depths"} & set(draw(run_record()))
    assert all(CHARTS[name].remedy.startswith("longarena train") for name in ("state", "depths"))
