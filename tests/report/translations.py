"""Records of runs that translate."""

from report.examples import run_record, split_score

from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.tracks.metric import Metric

BLEU = Metric(name="BLEU", title="BLEU", unit="", better="more")
TOTAL = {"mult_adds": {"total": 10_000_000}}


def translated(mixer, bleu, details, *, task="multi30k", seed=0, sets=()):
    recipe = override(preset("multi30k", mixer, "cpu", seed), sets)
    choice = recipe.task.model_copy(update={"name": task})
    recipe = recipe.model_copy(update={"task": choice})
    record = run_record(mixer, seed)
    score = split_score(0.5).model_copy(update={"value": bleu, "error": 0.5})
    metrics = record.metrics.model_copy(update={"details": details, "test": score, "valid": score})
    changes = {"recipe": recipe, "id": recipe.id, "metric": BLEU, "variant": "vocabulary=4000"}
    return record.model_copy(update=changes | {"metrics": metrics})
