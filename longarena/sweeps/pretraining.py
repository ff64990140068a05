"""Is the gap between attention and state spaces one of training? With and without pretraining.

One mechanism of each of four families on Text and Image with the `cpu` preset: each once with all
its steps on the task's question, and once with half of them on hidden inputs of the same data,
before the other half. A step of pretraining costs about what another does (the same pass through
the backbone, a head at the hidden tokens alone), so both take about the same time; the records have
the seconds of both parts. Repeat it with another seed: --set seed=1

Paper:  Amos, Berant & Gupta (2024), https://arxiv.org/abs/2310.02980, appendix D: as many epochs in
        all, a part of them for pretraining
"""

from longarena import Recipe, override, preset, pretrained

TASKS = ("image", "text")
MIXERS = ("transformer", "local", "linear", "s4d")


def recipes() -> list[Recipe]:
    whole = [preset(task, mixer, "cpu") for task in TASKS for mixer in MIXERS]
    return [each for recipe in whole for each in (recipe, halved(recipe))]


def halved(recipe: Recipe) -> Recipe:
    """Give half of the steps to pretraining, with the warm-up of half as many steps in each."""
    half, warmup_steps = recipe.steps // 2, recipe.schedule.warmup_steps // 2
    shorter = override(recipe, [f"steps={half}", f"schedule.warmup_steps={warmup_steps}"])
    return pretrained(shorter, recipe.steps - half)
