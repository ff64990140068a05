"""The Long Range Arena for efficient Transformers, from Python.

recipe = longarena.preset("listops", "linear", "quick")
record = longarena.train(longarena.override(recipe, ["model.depth=4"]))
longarena.sweep([longarena.replace(recipe, seed=seed) for seed in range(3)])
longarena.measure(["transformer", "linear"], store=Path("runs/records"))
longarena.report(Path("runs/records"), Path("report"))
"""

from typing import TYPE_CHECKING

from longarena.lazy import export

if TYPE_CHECKING:
    from longarena.choose import choose
    from longarena.inference.trained import load
    from longarena.measure import measure
    from longarena.recipes.extending import extended
    from longarena.recipes.presets import preset
    from longarena.recipes.pretraining import pretrained
    from longarena.recipes.recipe import Recipe, override, replace
    from longarena.report import report
    from longarena.sweep import sweep, tune
    from longarena.training.loop import train
    from longarena.version import __version__

__all__ = [
    "Recipe",
    "__version__",
    "choose",
    "extended",
    "load",
    "measure",
    "override",
    "preset",
    "pretrained",
    "replace",
    "report",
    "sweep",
    "train",
    "tune",
]

export(
    __name__,
    {
        "Recipe": "longarena.recipes.recipe",
        "__version__": "longarena.version",
        "choose": "longarena.choose",
        "extended": "longarena.recipes.extending",
        "load": "longarena.inference.trained",
        "measure": "longarena.measure",
        "override": "longarena.recipes.recipe",
        "preset": "longarena.recipes.presets",
        "pretrained": "longarena.recipes.pretraining",
        "replace": "longarena.recipes.recipe",
        "report": "longarena.report",
        "sweep": "longarena.sweep",
        "train": "longarena.training.loop",
        "tune": "longarena.sweep",
    },
)
