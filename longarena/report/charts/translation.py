"""BLEU over the Mult-Adds of a sentence of 30 tokens: a line per mechanism, its sizes along it.

Choice: a panel has runs that differ in nothing but the mechanism and the size of the model; a point
        is the mean over seeds.
Choice: published numbers are lines of their own, named by their paper: they were obtained with
        other code, data details and tokens. A set that nobody ran here is a panel too.
"""

from collections.abc import Iterable
from statistics import fmean

from longarena.findings.changes import setting
from longarena.findings.published_translation import TRANSLATIONS, PublishedTranslation
from longarena.findings.scores import Row, group, row_order
from longarena.records.summary import Run
from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import card, row_name, task_title

PAPER = "Wu et al."
DIRECTION = "en-de"  # of WMT'14, where a recipe does not name it
# what makes a model larger; runs of one line differ in it
SIZES = tuple(f"model.{name}" for name in ("width", "qkv_width", "mlp_width", "depth", "num_heads"))


def draw_translation(found: Findings) -> Spec | None:
    """Draw BLEU over Mult-Adds."""
    scored = [run for score in found.scores.scores.values() for run in score.runs]
    # a run with tuned values may stand in two places
    once = {id(run): run for run in scored if run.metrics.test}.values()
    runs = [run for run in once if sentence_mult_adds(run)]
    if not runs:
        return None
    ours = group(runs, _panel)
    ordered = sorted(runs, key=lambda run: row_order(_row(run)))
    cards = {row_name(_row(run)): run.recipe.model.card for run in ordered}
    points = [
        point for panel, of_panel in enumerate(ours.values()) for point in _lines(panel, of_panel)
    ]
    panels = list(ours)
    for published in TRANSLATIONS:
        places = [n for n, runs in enumerate(ours.values()) if _is_of(runs[0], published)]
        if not places:
            places, panels = [len(panels)], [*panels, f"{published.title}, published"]
        points += [point for number in places for point in _published(number, published)]
        cards |= {_name(each.mixer): card(each.mixer) for each in published.points}
    frame = Frame(
        cards,
        panels=panels,
        x_title="million Mult-Adds of a sentence of 30 tokens, without embedding and output",
        y_title="test BLEU",
        is_x_log=True,
    )
    return draw_lines(frame, points)


def sentence_mult_adds(run: Run) -> int:
    """Return the Mult-Adds of a sentence as a record has them; 0 if it has none."""
    kinds = run.metrics.details.get("mult_adds")
    total = kinds.get("total") if isinstance(kinds, dict) else None
    return total if isinstance(total, int) and total > 0 else 0


def _panel(run: Run) -> str:
    """Name what the runs of a panel have in common."""
    _, others = setting(run.recipe, SIZES)
    parts = [task_title(run.recipe.task.name), run.variant.replace(",", ", "), run.recipe.preset]
    return ", ".join(filter(None, [*parts, others]))


def _row(run: Run) -> Row:
    options, _ = setting(run.recipe, SIZES)
    return Row(run.recipe.model.mixer, options)


def _lines(panel: int, runs: Iterable[Run]) -> list[Point]:
    """Average the seeds of every mechanism at every size."""
    by_size = group(runs, lambda run: (row_name(_row(run)), sentence_mult_adds(run)))
    return [
        {
            "panel": panel,
            "mixer": name,
            "x": mult_adds / 1e6,
            "y": fmean(run.metrics.test.value for run in seeds if run.metrics.test),
        }
        for (name, mult_adds), seeds in sorted(by_size.items())
    ]


def _is_of(run: Run, published: PublishedTranslation) -> bool:
    """Tell whether a run translates what was published about."""
    task = run.recipe.task
    direction = task.options.get("direction", DIRECTION)
    return task.name == published.task and direction == published.direction


def _published(panel: int, published: PublishedTranslation) -> list[Point]:
    return [
        {"panel": panel, "mixer": _name(each.mixer), "x": each.mult_adds / 1e6, "y": each.bleu}
        for each in published.points
    ]


def _name(mixer: str) -> str:
    return f"{card(mixer).title} ({PAPER})"
