"""Is the gap between attention and state spaces one of training? With and without pretraining.

One mechanism of each of four families on Text and Image with the `cpu` preset, in three times its
steps: each once with all of them on the task's question, and once with half of them on hidden
inputs of the same data, before the other half. A step of pretraining costs about what another does
(the same pass through the backbone, a head at the hidden tokens alone), so both take about the same
time; the records have the seconds of both parts. Repeat it with another seed: --set seed=1

Paper:  Amos, Berant & Gupta (2024), https://arxiv.org/abs/2310.02980, appendix D: as many epochs in
        all, a part of them for pretraining
"""

from longarena import Recipe, override, preset, pretrained
from longarena.sweeps.cpu import at_own_rate

TASKS = ("image", "text")
MIXERS = ("transformer", "local", "linear", "s4d")
TIMES = 3


def recipes() -> list[Recipe]:
    presets = [at_own_rate(preset(task, mixer, "cpu")) for task in TASKS for mixer in MIXERS]
    whole = [in_steps(recipe, TIMES) for recipe in presets]
    return [each for recipe in whole for each in (recipe, halved(recipe))]


def halved(recipe: Recipe) -> Recipe:
    """Give half of the steps to pretraining."""
    return pretrained(in_steps(recipe, 1 / 2), recipe.steps // 2)


def in_steps(recipe: Recipe, times: float) -> Recipe:
    """Train for some times as many steps, with the same share of them for the warm-up."""
    steps, warmup_steps = recipe.steps, recipe.schedule.warmup_steps
    changes = [("steps", steps), ("schedule.warmup_steps", warmup_steps)]
    return override(recipe, [f"{key}={round(times * value)}" for key, value in changes])
