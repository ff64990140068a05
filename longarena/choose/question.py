"""The question: which data, which mechanisms may answer it, and in how many minutes.

An entrant is a mechanism with the preset's recipe for the data. All of the table enter, or those
that are named, also a user's own as `module:Class`; who is left out is told with the reason.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longarena import attention
from longarena.attention import CARDS, MixerCard
from longarena.choose.budget import PARTS
from longarena.errors import UserError, unknown
from longarena.measure import count_recipes
from longarena.measure.budget import write_amount
from longarena.measure.candidate import read_name, read_recipes
from longarena.options import read_assignments
from longarena.progress import SILENT, Progress
from longarena.recipes.presets import INDIVIDUAL, PRESETS, mixers_of
from longarena.recipes.presets.outside import name_in_recipe
from longarena.recipes.recipe import ID_LENGTH, Recipe
from longarena.records.choice import Constraints

YARDSTICK = "transformer"
# the contest sets them itself
SET_HERE = {
    "evaluate_every",
    "log_every",
    "checkpoint_every",
    "patience",
    "schedule.warmup_steps",
    "model.mixer",
    "preset",
}


@dataclass(frozen=True)
class Question:
    """Which mechanism to take for some data."""

    task: str
    minutes: float
    preset: str = "cpu"
    assignments: tuple[str, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)


@dataclass(frozen=True)
class Field:
    """The recipes of those who enter, by their names, and why the others do not."""

    recipes: Mapping[str, Recipe]
    left_out: Mapping[str, str]

    def without(self, reasons: Mapping[str, str]) -> "Field":
        """Leave out some more."""
        rest = {name: each for name, each in self.recipes.items() if name not in reasons}
        return Field(rest, {**self.left_out, **reasons})

    @property
    def any_recipe(self) -> Recipe:
        """One of the recipes: all have the same data, batches and steps."""
        return next(iter(self.recipes.values()))


def gather(question: Question, progress: Progress = SILENT) -> Field:
    """Find who can enter before anything is measured; refuse a question that nobody can answer."""
    _check(question)
    constraints = question.constraints
    names = constraints.only or tuple(CARDS)
    able = mixers_of(question.preset, name_in_recipe(question.task))
    reasons: dict[str, str] = {}
    for name in names:
        mixer = read_name(name)[0]
        if name in constraints.without or mixer in constraints.without:
            reasons[name] = "excluded by --without"
        elif mixer in CARDS and able and mixer not in able:
            reasons[name] = _why_unable(CARDS[mixer])
        elif constraints.must_decode and not attention.find(mixer).card.causal:
            reasons[name] = f"--must decode: {_why_unable(attention.find(mixer).card)}"
    entering = [name for name in names if name not in reasons]
    made = _recipes(entering, question)
    found = Field(dict(zip(entering, made, strict=True)), reasons)
    enough(found)
    if found.any_recipe.steps < PARTS:
        raise UserError(f"steps={found.any_recipe.steps} is too few to compare at; set {PARTS}")
    return _within_mult_adds(found, constraints.max_mult_adds, progress)


def _recipes(names: Sequence[str], question: Question) -> list[Recipe]:
    """Read recipes by name; without a name there are none, where `read_recipes` means all."""
    return (
        read_recipes(names, question.task, question.preset, question.assignments) if names else []
    )


def enough(found: Field) -> None:
    """Refuse a contest of fewer than two."""
    if len(found.recipes) > 1:
        return
    reasons = "; ".join(f"{name}: {why}" for name, why in list(found.left_out.items())[:3])
    what = f"only {next(iter(found.recipes))} is" if found.recipes else "no mechanism is"
    raise UserError(
        f"{what} left to compare{f' ({reasons})' if reasons else ''}; "
        "name two or more with --only, or loosen the constraints"
    )


def families(found: Field) -> dict[str, str]:
    """Return the families of those who enter."""
    return {name: attention.find(read_name(name)[0]).card.family for name in found.recipes}


def question_id(question: Question, found: Field) -> str:
    """Name a question by a digest of what is asked, so that the same command goes on."""
    asked = [
        [recipe.id for recipe in found.recipes.values()],
        question.constraints.model_dump(mode="json"),
        question.minutes,
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:ID_LENGTH]


def _check(question: Question) -> None:
    """Refuse what cannot be asked, before any data is read."""
    if not 0 < question.minutes < math.inf:
        raise UserError(f"--minutes {question.minutes:g} is no time; write --minutes 30")
    if question.preset not in PRESETS:
        raise unknown("preset", question.preset, PRESETS)
    if question.preset in INDIVIDUAL:
        raise UserError(
            f"preset {question.preset} has a recipe per mechanism, which cannot be compared; "
            "choose another"
        )
    for key in read_assignments(question.assignments):
        if key in SET_HERE:
            raise UserError(f"--set {key} is decided by the contest itself; leave it out")
    for name in question.constraints.without:
        attention.check(name.partition("[")[0])


def _why_unable(card: MixerCard) -> str:
    return f"cannot be causal{f': {card.why_not_causal}' if card.why_not_causal else ''}"


def _within_mult_adds(found: Field, limit: float | None, progress: Progress) -> Field:
    """Leave out models that take too many operations for an example of the greatest length."""
    if limit is None:
        return found
    counts = count_recipes(found.recipes.values(), progress=progress)
    left = found.without(
        {
            name: f"takes {write_amount(count.mult_adds)} Mult-Adds for {count.length:,} tokens, "
            f"more than --max-mult-adds {write_amount(limit)}"
            for name, count in zip(found.recipes, counts, strict=True)
            if count.mult_adds > limit
        }
    )
    enough(left)
    return left
