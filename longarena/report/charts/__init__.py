"""Every chart, drawn from findings: one entry each. One specification serves page, SVG and PNG.

picture    scores against speed, the area of a dot is memory, every mechanism named
speed      training steps per second against length
memory     peak memory against length
generation the time of one more token against the context
curves     validation scores over the steps of training, mean over seeds
minutes    the same over the time of training
seeds      the curves over steps, a line for every seed
fields     scores over the number of tokens that one token can know of
spans      how far trained models look, task by task
state      scores against the bytes that generation carries from token to token
pairs      recall over the number of pairs that are to be kept in mind
depths     scores over the length of a sequence and where in it the answer stands
translation BLEU over the Mult-Adds of a sentence, with published points
"""

from collections.abc import Iterable, Mapping

from longarena.report.charts.chart import Chart, ChartKind
from longarena.report.charts.curves import draw_curves, draw_minutes
from longarena.report.charts.depths import draw_depths
from longarena.report.charts.fields import draw_fields
from longarena.report.charts.generation import draw_generation
from longarena.report.charts.lengths import draw_memory, draw_speed
from longarena.report.charts.picture import draw_picture
from longarena.report.charts.seeds import draw_seeds
from longarena.report.charts.spans import draw_spans
from longarena.report.charts.state import draw_pairs, draw_state
from longarena.report.charts.translation import draw_translation
from longarena.report.findings import Findings
from longarena.report.remedies import GENERATE, MEASURE, PROBE, SEEDS, TRAIN

CHARTS: Mapping[str, ChartKind] = {
    "picture": ChartKind(
        "Scores against speed",
        "Up is better, right is faster, and the area of a dot is its peak memory. The thin line "
        "joins what no other beats in both score and speed; a dashed one is the score of an "
        "answer without a model.",
        f"{TRAIN}, and {MEASURE}",
        draw_picture,
    ),
    "speed": ChartKind(
        "Speed against length",
        "Both axes are logarithmic: a straight line is a power law.",
        MEASURE,
        draw_speed,
    ),
    "memory": ChartKind(
        "Memory against length",
        "The peak of live tensors in a training step; both axes are logarithmic.",
        MEASURE,
        draw_memory,
    ),
    "generation": ChartKind(
        "Generation against context",
        "The time of one more token after a context; both axes are logarithmic. A flat line is a "
        "mechanism that carries a state of fixed size.",
        GENERATE,
        draw_generation,
    ),
    "curves": ChartKind(
        "Learning curves",
        "Validation scores during training, the mean over seeds.",
        TRAIN,
        draw_curves,
    ),
    "minutes": ChartKind(
        "Learning curves in time",
        "The same scores over the time that the training steps took, without evaluation, on the "
        "machine that the runs name; the mean over seeds. The axis is logarithmic. Runs of other "
        "machines, or with another number of threads, have a panel of their own.",
        TRAIN,
        draw_minutes,
    ),
    "seeds": ChartKind(
        "Learning curves, seed by seed",
        "A line for every seed of the mechanisms that have at least three: where the lines of one "
        "mechanism part, a single run tells little about it.",
        SEEDS,
        draw_seeds,
    ),
    "fields": ChartKind(
        "Scores over the receptive field",
        "How many tokens one token of the last layer can know of, by the options of the mechanism "
        "and the number of layers; the axis is logarithmic. What sees everything is a level line.",
        "longarena sweep locality",
        draw_fields,
    ),
    "spans": ChartKind(
        "Required attention span",
        "The mean distance between a query and what it attends to, over heads, layers and "
        "validation samples of a trained model; the mean over its runs.",
        "longarena span RUN",
        draw_spans,
    ),
    "state": ChartKind(
        "Scores against state",
        "What a causal model carries from one token to the next at the end of a test sequence, all "
        "layers together. Up is better, left is less to carry; the area of a dot is its number of "
        "parameters. The thin line joins what no other beats in both.",
        f"{PROBE} linear",
        draw_state,
    ),
    "pairs": ChartKind(
        "Recall over the number of pairs",
        "How many keys can be told their values when more of them are to be kept in mind.",
        f"{PROBE} linear --set task.pairs=4, and with other numbers",
        draw_pairs,
    ),
    "depths": ChartKind(
        "Scores over length and depth",
        "Each mechanism is a row of ten stripes: the tenth of the sequence in which the answer "
        "stands, the first at the top. Lengths beyond that of training were never trained on.",
        "longarena train induction transformer --preset cpu",
        draw_depths,
    ),
    "translation": ChartKind(
        "BLEU over Mult-Adds",
        "What a translation of a sentence of 30 tokens costs, without embedding and output map, "
        "and how good translations are; up and left is better. Lines named by a paper are its own "
        "numbers, from other code and machines.",
        "longarena train multi30k transformer --preset cpu",
        draw_translation,
    ),
}


# what a suite has of its own; the others are of all records
SUITE_CHARTS = ("curves", "minutes", "seeds", "fields", "state", "pairs", "depths", "translation")


def draw_charts(found: Findings, names: Iterable[str] = CHARTS, suffix: str = "") -> list[Chart]:
    """Draw the charts of some names that the findings suffice for."""
    kinds = {name: CHARTS[name] for name in names}
    drawn = {name: kind.draw(found.charted) for name, kind in kinds.items()}
    return [
        Chart(f"{name}{suffix}", kinds[name].title, kinds[name].caption, spec)
        for name, spec in drawn.items()
        if spec
    ]
