import json
import math
from itertools import combinations, pairwise
from typing import get_args

import numpy as np
import pytest
from report.examples import MACHINE, measure_record, run_record

from longarena.attention import Family
from longarena.findings.boards import own_variant
from longarena.recipes.presets import preset
from longarena.records.folder import Records
from longarena.records.record import Curve
from longarena.report.charts import draw_charts
from longarena.report.charts.curves import MAX_CURVE_POINTS
from longarena.report.charts.frame import HEIGHT
from longarena.report.charts.palette import COLOURS
from longarena.report.findings import Findings

NAMES = ["Transformer", "Linear Transformer"]


def draw(runs=(), measurements=()):
    """Every chart of some records, by name."""
    found = Findings.of(Records(list(runs), list(measurements)))
    return {chart.name: chart.spec for chart in draw_charts(found)}


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
    assert values(spec, "x") == [4.0, 5.0]
    assert values(spec, "area") == [256.0, 128.0]


@pytest.mark.parametrize(("other", "levels"), [(0.34, []), (0.2, [17.0])])
def test_an_answer_without_a_model_is_shown_where_it_is_near_the_dots(other, levels):
    spec = draw([RUNS[0], run_record("linear", accuracy=other)], MEASUREMENTS)["picture"]
    assert values(spec, "y", "levels") == levels


def test_the_picture_marks_what_no_other_beats_in_accuracy_and_speed():
    runs = [*RUNS, run_record("local", accuracy=0.33), run_record("performer", accuracy=0.2)]
    speeds = {"local": 2.0, "performer": 9.0}
    found = [measure_record(mixer, 1024, speed) for mixer, speed in speeds.items()]
    spec = draw(runs, [*MEASUREMENTS, *found])["picture"]
    assert values(spec, "mixer", "front") == [*NAMES, "Performer"]
    assert values(spec, "x", "front") == [4.0, 5.0, 9.0]


def test_the_picture_takes_speed_at_the_length_of_the_task_and_says_so():
    long = {"tokens_per_second": 1900 * 41.5 * RUNS[0].recipe.batch_size}
    runs = [run.model_copy(update={"metrics": run.metrics.model_copy(update=long)}) for run in RUNS]
    short = [
        run_record(run.recipe.model.mixer, sets=["task.max_length=128"], variant="") for run in RUNS
    ]
    spec = draw([*runs, *short], MEASUREMENTS)["picture"]
    assert sorted(zip(values(spec, "panel"), values(spec, "x"), strict=True)) == [
        *((0, 4.0), (0, 5.0)),
        *((1, 1.0), (1, 2.5)),
    ]
    titles = {layer["encoding"]["x"]["axis"]["title"]["expr"] for layer in spec["layer"][1:]}
    (title,) = titles
    assert json.loads(title.removesuffix("[panel]")) == [
        "training steps per second at 1K, batch 8; scores at 143 tokens",
        "training steps per second at 2K, batch 8; scores at 1,900 tokens",
    ]


def test_the_picture_takes_the_session_that_measured_the_most():
    later = measure_record("linear", 1024, 7.0, session="s2", finished_at="2026-01-01T00:00:00")
    assert values(draw(RUNS, [*MEASUREMENTS, later])["picture"], "x") == [4.0, 5.0]


def test_every_panel_of_the_picture_has_a_front_of_its_own():
    runs = [*RUNS, run_record("linear", accuracy=0.2, sets=["steps=1500"])]
    spec = draw(runs, MEASUREMENTS)["picture"]
    assert values(spec, "panel", "front") == [0, 0, 1]


def test_the_picture_needs_both_accuracy_and_speed():
    assert set(draw(RUNS, [])) == {"curves", "minutes"}
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
    curve = [
        Curve(steps=[10, 20], seconds=[1, 2], values=found) for found in ([0.1, 0.3], [0.2, 0.5])
    ]
    runs = [run_record(seed=seed, curve=curve[seed]) for seed in (0, 1)]
    assert values(draw(runs)["curves"], "y") == pytest.approx([15.0, 40.0])


def test_a_curve_in_time_has_the_mean_seconds_of_its_seeds():
    curve = [Curve(steps=[10, 20], seconds=found, values=[0.1, 0.3]) for found in ([1, 2], [3, 6])]
    runs = [run_record(seed=seed, curve=curve[seed]) for seed in (0, 1)]
    spec = draw(runs)["minutes"]
    assert values(spec, "x") == pytest.approx([2.0, 4.0])
    assert values(spec, "y") == pytest.approx([10.0, 30.0])


def test_a_curve_whose_time_is_not_known_is_drawn_over_steps_alone():
    curve = Curve(steps=[1, 2], seconds=[0.0, 0.5], values=[0.1, 0.3])
    drawn = draw([run_record(curve=curve)])
    assert values(drawn["curves"], "x") == [1, 2]
    assert values(drawn["minutes"], "x") == [0.5]


@pytest.mark.parametrize("change", [{"threads": 1}, {"processor": "Another"}])
def test_times_of_another_clock_are_never_in_the_same_panel(change):
    other = MACHINE.model_copy(update=change)
    spec = draw([run_record("transformer"), run_record("linear", machine=other)])["minutes"]
    assert set(zip(values(spec, "mixer"), values(spec, "panel"), strict=True)) in (
        {("Transformer", 0), ("Linear Transformer", 1)},
        {("Transformer", 1), ("Linear Transformer", 0)},
    )
    (panel,) = (param for param in spec["params"] if param["name"] == "panel")
    assert len({label.rpartition("2 cores")[2] for label in panel["bind"]["labels"]}) == len(
        {MACHINE.threads, other.threads}
    )


def test_a_long_curve_is_thinned_and_keeps_its_end():
    steps = list(range(1, 1001))
    curve = Curve(steps=steps, seconds=steps, values=[step / 1000 for step in steps])
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


def test_a_mechanism_has_the_colour_of_its_family_in_every_chart():
    drawn = draw(RUNS, MEASUREMENTS)
    scales = {json.dumps(colour_of(spec)["scale"]) for spec in drawn.values()}
    assert len(drawn) == 5
    assert len(scales) == 1
    assert json.loads(scales.pop())["range"] == [COLOURS["full attention"], COLOURS["kernels"]]
    families = {(p["mixer"], p["family"]) for s in drawn.values() for p in s["datasets"]["points"]}
    assert families == {(NAMES[0], "full attention"), (NAMES[1], "kernels")}


def colour_of(spec):
    encodings = [layer["encoding"] for layer in spec["layer"]]
    return next(encoding["color"] for encoding in encodings if "color" in encoding)


def test_the_names_of_eighteen_lines_stand_apart_in_a_column():
    found = [
        measure_record(f"own:M{i}", 1024 * n, 2 / n + i / 99) for i in range(18) for n in (1, 2)
    ]
    spec = draw([], found)["speed"]
    assert len(set(values(spec, "name_x", "names"))) == 1
    heights = sorted(height_of(name, spec) for name in spec["datasets"]["names"])
    assert all(b - a > 12.9 for a, b in pairwise(heights))


def height_of(name, spec):
    ys = values(spec, "y")
    low, high = min(ys), max(ys)
    margin = max(1.1, (high / low) ** 0.06)
    share = math.log(name["y"] * margin / low) / math.log(high * margin**2 / low)
    return HEIGHT * (1 - share) + name["dy"]


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", COLOURS.values())
def test_every_colour_is_seen_on_white_and_on_black(colour):
    on_white = 1.05 / (luminance(colour) + 0.05)
    on_dark = (luminance(colour) + 0.05) / (luminance("#141619") + 0.05)
    assert min(on_white, on_dark) >= 3


# Machado et al. (2009): what is left of red, green and blue without one kind of cone
WITHOUT_RED = np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]])
WITHOUT_GREEN = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
# Ottosson (2020): linear colours to OKLab, in which equal distances look equal
CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
LAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])


def test_every_family_has_a_colour():
    assert set(COLOURS) == set(get_args(Family))


@pytest.mark.parametrize("view", [np.eye(3), WITHOUT_RED, WITHOUT_GREEN], ids=str)
def test_families_can_be_told_apart_by_any_eye(view):
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in COLOURS.values()])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.cbrt(np.clip(linear @ view.T, 0, 1) @ CONES.T) @ LAB.T
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.055


def quick_run(mixer, task, accuracy):
    """A run of the quick preset on its own data of a task."""
    fields = {"recipe": preset(task, mixer, "quick"), "variant": own_variant("quick", task)}
    return run_record(mixer, accuracy=accuracy).model_copy(update=fields)


def test_the_picture_begins_with_the_average_over_tasks():
    runs = [
        quick_run("transformer", "listops", 0.4),
        quick_run("transformer", "pathfinder", 0.6),
        quick_run("linear", "listops", 0.3),
        quick_run("linear", "pathfinder", 0.8),
        quick_run("performer", "listops", 0.9),  # not the same tasks, so no part of the average
    ]
    spec = draw(runs, [*MEASUREMENTS, measure_record("performer", 2048, 3.0)])["picture"]
    points = [point for point in spec["datasets"]["points"] if point["panel"] == 0]
    assert {p["mixer"]: p["y"] for p in points} == pytest.approx(
        dict(zip(NAMES, [50, 55], strict=True))
    )
    (panel,) = (param for param in spec["params"] if param["name"] == "panel")
    assert panel["bind"]["labels"][0].startswith("Average of 2 tasks, quick")
    assert len(panel["bind"]["labels"]) == 3
