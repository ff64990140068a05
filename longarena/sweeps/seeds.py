"""Is it the mechanism or its luck? ListOps and Pathfinder with ten seeds each.

One mechanism of each of four families with the `cpu` preset, in half of its steps, validated twenty
times on the way, so that the table `seeds` can say how many of the ten learn, and when. Seed by
seed, so that the table grows evenly when the sweep is stopped.
"""

from longarena import Recipe, override, preset

TASKS = ("listops", "pathfinder")
MIXERS = ("transformer", "local", "linear", "s4d")
NUM_SEEDS, NUM_VALIDATIONS = 10, 20


def recipes() -> list[Recipe]:
    return [
        halved(preset(task, mixer, "cpu", seed))
        for seed in range(NUM_SEEDS)
        for task in TASKS
        for mixer in MIXERS
    ]


def halved(recipe: Recipe) -> Recipe:
    """Train for half of the steps, with the same share of them for the warm-up."""
    steps, warmup_steps = recipe.steps // 2, recipe.schedule.warmup_steps // 2
    changes = {
        "steps": steps,
        "schedule.warmup_steps": warmup_steps,
        "evaluate_every": steps // NUM_VALIDATIONS,
    }
    return override(recipe, [f"{name}={value}" for name, value in changes.items()])
