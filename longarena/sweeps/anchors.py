"""Runs to hold beside published curves: full data, cut short, or the tasks of `cpu` for longer.

`small` on full data: the published ones took 5,000 to 35,000 steps, Image in batches of 256. So few
steps need a higher rate; what is compared is where a curve stands by then, not where it ends.
Linear, the cheapest, was raised to 1,500 after 500 steps had scored 60.0 on Text.

`cpu` for longer, with all data, in batches of 32: what a state space reaches in half an hour of one
core, of Image at its 32 x 32 pixels and of the first 512 bytes of Text.

`own` for a smaller model: S4D by its authors' recipe on whole reviews, with four layers of 64
instead of six of 256 and an eighth of the steps, which is what a core can do in less than an hour.
"""

from longarena import Recipe, override, preset, replace

SHORTER = (
    ("image", "transformer", 500),
    ("listops", "transformer", 500),
    ("text", "performer", 500),
    ("text", "linear", 1500),
    ("image", "linear", 1500),
)
LONGER: tuple[tuple[str, str, int, list[str]], ...] = (
    ("image", "s4d", 800, []),
    ("image", "linear", 800, []),
    ("text", "s4d", 2000, ["task.max_length=512"]),
    ("text", "linear", 2000, ["task.max_length=512"]),
)
SMALLER = (("text", "s4d", 4, 64, 6000),)


def recipes() -> list[Recipe]:
    return [
        *(shorter(*each) for each in SHORTER),
        *(longer(*each) for each in LONGER),
        *(smaller(*each) for each in SMALLER),
    ]


def shorter(task: str, mixer: str, steps: int) -> Recipe:
    return override(
        preset(task, mixer, "small"),
        [
            f"steps={steps}",
            f"schedule.warmup_steps={steps // 10}",
            "optimiser.rate=1e-3",
            "batch_size=32",
            "evaluate_every=250",
        ],
    )


def longer(task: str, mixer: str, steps: int, cut: list[str]) -> Recipe:
    return override(
        replace(preset(task, mixer, "cpu"), task=preset(task, mixer, "small").task),
        [
            *cut,
            "batch_size=32",
            "optimiser.rate=1e-2",
            f"steps={steps}",
            f"schedule.warmup_steps={steps // 10}",
            f"evaluate_every={steps // 8}",
            f"log_every={steps // 20}",
            f"checkpoint_every={steps // 10}",
        ],
    )


def smaller(task: str, mixer: str, depth: int, width: int, steps: int) -> Recipe:
    return override(
        preset(task, mixer, "own"),
        [
            f"model.depth={depth}",
            f"model.width={width}",
            f"steps={steps}",
            f"schedule.warmup_steps={steps // 12}",
            f"evaluate_every={steps // 12}",
            f"log_every={steps // 60}",
            f"checkpoint_every={steps // 60}",
        ],
    )
