import json
from itertools import pairwise

import pytest
from report.examples import measure_record, run_record

from longarena.report.charts import MAX_CURVE_POINTS, charts
from longarena.report.frame import COLOURS
from longarena.store.costs import cost_tables
from longarena.store.record import Curve
from longarena.store.tables import accuracy_table

NAMES = ["Transformer", "Linear Transformer"]


def draw(runs=(), measurements=()):
    """Every chart of some records, by name."""
    drawn = charts(accuracy_table(runs), cost_tables(measurements), runs)
    return {chart.name: chart.spec for chart in drawn}


def values(spec, field, dataset="points"):
    return [point[field] for point in spec["datasets"][dataset]]


RUNS = [run_record("transformer", accuracy=0.36), run_record("linear", accuracy=0.34)]
MEASUREMENTS = [
    measure_record("transformer", 1024, 4.0, 2**28),
    measure_record("transformer", 2048, 1.0, 2**30),
    measure_record("linear", 1024, 5.0, 2**27),
    measure_record("linear", 2048, 2.5, 2**28),
]


def test_the_picture_shows_accuracy_speed_and_memory_of_every_mechanism():
    spec = draw(RUNS, MEASUREMENTS)["picture"]
    assert values(spec, "mixer") == values(spec, "mixer", "names") == NAMES
    assert values(spec, "y") == [36.0, 34.0]
    assert values(spec, "x") == [1.0, 2.5]
    assert values(spec, "memory") == [1024.0, 256.0]
    assert values(spec, "y", "levels") == [17.0]


def test_the_picture_needs_both_accuracy_and_speed():
    assert set(draw(RUNS, [])) == {"curves"}
    assert set(draw([], MEASUREMENTS)) == {"speed", "memory"}
    assert draw() == {}


def test_a_mechanism_that_diverged_is_in_no_picture():
    runs = [RUNS[0], run_record("linear", accuracy=None)]
    assert values(draw(runs, MEASUREMENTS)["picture"], "mixer") == ["Transformer"]


def test_lines_go_through_what_was_measured():
    drawn = draw([], MEASUREMENTS)
    assert values(drawn["speed"], "y") == [4.0, 1.0, 5.0, 2.5]
    assert values(drawn["memory"], "y") == [256.0, 1024.0, 128.0, 256.0]
    assert values(drawn["speed"], "x") == [1024, 2048, 1024, 2048]
    assert values(drawn["speed"], "x", "names") == [2048, 2048]


def test_a_curve_is_the_mean_over_seeds():
    curve = [Curve(steps=[10, 20], valid_accuracy=found) for found in ([0.1, 0.3], [0.2, 0.5])]
    runs = [run_record(seed=seed, curve=curve[seed]) for seed in (0, 1)]
    assert values(draw(runs)["curves"], "y") == pytest.approx([15.0, 40.0])


def test_a_long_curve_is_thinned_and_keeps_its_end():
    steps = list(range(1, 1001))
    curve = Curve(steps=steps, valid_accuracy=[step / 1000 for step in steps])
    xs = values(draw([run_record(curve=curve)])["curves"], "x")
    assert len(xs) <= MAX_CURVE_POINTS
    assert xs[-1] == 1000
    assert all(a < b for a, b in pairwise(xs))


def test_columns_are_panels_to_choose_from_and_never_mix():
    runs = [*RUNS, run_record("linear", accuracy=0.2, sets=["steps=1500"])]
    spec = draw(runs, MEASUREMENTS)["picture"]
    assert values(spec, "panel") == [0, 0, 1]
    (panel,) = (param for param in spec["params"] if param["name"] == "panel")
    assert len(panel["bind"]["options"]) == 2
    assert panel["bind"]["labels"][1].endswith("steps=1500")


def test_a_mechanism_has_one_colour_in_every_chart():
    drawn = draw(RUNS, MEASUREMENTS)
    scales = {
        json.dumps(spec["layer"][-2]["encoding"]["color"]["scale"]) for spec in drawn.values()
    }
    assert len(drawn) == 4
    assert len(scales) == 1


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", COLOURS)
def test_every_colour_is_seen_on_white_and_on_black(colour):
    on_white = 1.05 / (luminance(colour) + 0.05)
    on_dark = (luminance(colour) + 0.05) / (luminance("#141619") + 0.05)
    assert min(on_white, on_dark) >= 3
