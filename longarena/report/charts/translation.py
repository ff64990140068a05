"""BLEU over the Mult-Adds of a sentence of 30 tokens: a line per mechanism, its sizes along it.

Choice: a panel has runs that differ in nothing but the mechanism and the size of the model; a point
        is the mean over seeds, with the rate that did best on validation.
Choice: published numbers are lines of their own, named by their paper: they were obtained with
        other code, data details and tokens. A set that nobody ran here is a panel too.
"""

from longarena.findings.published_translation import TRANSLATIONS, PublishedTranslation
from longarena.findings.translation import TOTAL, Translator, best_rates, translators
from longarena.records.summary import Run
from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import card, row_name, setting_title

PAPER = "Wu et al."
DIRECTION = "en-de"  # of WMT'14, where a recipe does not name it


def draw_translation(found: Findings) -> Spec | None:
    """Draw BLEU over Mult-Adds."""
    ours = {each: best_rates(models) for each, models in translators(found.scores).items()}
    if not ours:
        return None
    cards = {row_name(model.row): model.row.card for models in ours.values() for model in models}
    points = [_point(n, model) for n, models in enumerate(ours.values()) for model in models]
    panels = [setting_title(each) for each in ours]
    for published in TRANSLATIONS:
        firsts = [models[0].runs[0] for models in ours.values()]
        places = [n for n, run in enumerate(firsts) if _is_of(run, published)]
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


def _point(panel: int, model: Translator) -> Point:
    return {
        "panel": panel,
        "mixer": row_name(model.row),
        "x": model.mult_adds[TOTAL] / 1e6,
        "y": model.bleu,
    }


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
