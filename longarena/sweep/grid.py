"""The recipes of a sweep: those of a file, or a grid of tasks, mechanisms and seeds.

    sweeps/mine.py    def recipes() -> list[Recipe]: a for loop in Python
    a grid            every task x every mechanism x every seed under one preset
                      (`all`: those for which the preset has a recipe)

Choice: a grid goes through all mechanisms and tasks with one seed before the next seed begins, so
        that a table fills evenly.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longarena import attention, sweeps, tasks
from longarena.errors import UserError, unknown
from longarena.loading import ALL, spread
from longarena.recipes.presets import PRESETS, preset
from longarena.recipes.presets.outside import name_in_recipe, options_of
from longarena.recipes.recipe import Recipe, override_some

OWN = Path("sweeps")


@dataclass(frozen=True)
class Grid:
    """Tasks and mechanisms by name; `all` stands for all built-in ones. Seeds 0 to `seeds` - 1.

    The assignments `task.key=value` say how a task that is a path is read; `derive` applies all.
    """

    tasks: Sequence[str]
    mixers: Sequence[str]
    preset: str = "quick"
    seeds: int = 1
    assignments: Sequence[str] = ()

    def recipes(self) -> list[Recipe]:
        """List the recipes of the grid."""
        if self.preset not in PRESETS:
            raise unknown("preset", self.preset, PRESETS)
        pairs = self._pairs()
        return [
            preset(*pair, self.preset, seed, options_of(pair[0], self.assignments))
            for seed in range(self.seeds)
            for pair in pairs
        ]

    def _pairs(self) -> list[tuple[str, str]]:
        """List tasks with mechanisms; of `all`, those that the preset has a recipe for."""
        chosen, mixers = spread(self.tasks, tasks.TASKS), spread(self.mixers, attention.CARDS)
        pairs = [(task, mixer) for mixer in mixers for task in chosen]
        named = {*self.tasks, *self.mixers}
        if ALL not in named:
            return pairs
        make = PRESETS[self.preset]
        found = [pair for pair in pairs if make(name_in_recipe(pair[0]), pair[1], 0)]
        # what was named is not left out in silence: `preset` says why there is no recipe for it
        named -= {ALL, *(name for pair in found for name in pair)}
        return [*found, *(pair for pair in pairs if named.intersection(pair))] or pairs


def read_sweep(name: str, folder: Path = OWN) -> list[Recipe]:
    """List the recipes of a Python file, or of the sweep of that name.

    A name is looked for in `folder` first and then among the sweeps that come with longarena.
    """
    path = Path(name) if name.endswith(".py") else _find(name, [folder, sweeps.FOLDER])
    if not path.is_file():
        raise UserError(f"{path} does not exist; give a Python file with a function recipes()")
    try:
        found = _call(path)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except Exception as error:
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error
    if not (isinstance(found, list) and all(isinstance(each, Recipe) for each in found)):
        raise UserError(f"{path}: recipes() must return a list of longarena.Recipe")
    return found


def _find(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (path := folder / f"{name}.py").is_file():
            return path
    known = {path.stem for folder in folders for path in folder.glob("[!_]*.py")}
    raise unknown("sweep", name, known)


def _call(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(f"sweep_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError("this is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "recipes", None)):
        raise UserError("it has no function recipes() -> list[Recipe]")
    found: object = module.recipes()
    return found


def derive(recipes: Sequence[Recipe], assignments: Sequence[str]) -> list[Recipe]:
    """Override values of every recipe that has them; recipes that become equal run once.

    A key that no recipe has is refused.
    """
    changed = override_some(recipes, assignments)
    return list({recipe.id: recipe for recipe in changed}.values())


def pick(recipes: Sequence[Recipe], index: int) -> list[Recipe]:
    """Return the one recipe with this number, counted from 0."""
    if not 0 <= index < len(recipes):
        last = len(recipes) - 1
        raise UserError(f"--only {index}: this sweep has the runs 0 to {last}; see --dry-run")
    return [recipes[index]]
