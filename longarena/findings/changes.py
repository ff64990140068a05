"""How a recipe differs from its preset, and the command line that makes the same recipe.

    a quick recipe with steps=50  ->  {"steps": 50}
                                  ->  longarena train listops linear --preset quick --set steps=50

Only the table of presets is consulted. Records come from other people too, so a module that a
record names is never imported here.
"""

import hashlib
import json
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

from longarena.model.config import ModelConfig
from longarena.options import Value, read_value
from longarena.recipes.extending import LENGTHS, continued, recipe_before
from longarena.recipes.presets import PRESETS, Preset
from longarena.recipes.pretraining import usual_masking
from longarena.recipes.recipe import PRETRAINING, Recipe
from longarena.runtime import Machine

# these name a run, or only say how often something is written
NO_SETTING = {"preset", "seed", "model.mixer", "log_every", "checkpoint_every"}
# noted of a mixer from outside when its recipe is made
NOTED = "model.own"
# the section that only the recipe of a start has
MASKING = "masking"
# the section that only the recipe of an extended run has
EXTENSION = "extension"
# what `--pretrain` sets
PRETRAIN = f"{PRETRAINING}.steps"


@dataclass(frozen=True)
class Changes:
    """The keys of `--set` whose values differ from the preset's, and the keys that were removed."""

    changed: dict[str, Value] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def changes(recipe: Recipe) -> Changes | None:
    """Compare a recipe with its preset; None if this longarena has no such preset."""
    preset = PRESETS.get(recipe.preset)
    base = _base(preset, recipe.task.name, recipe.model.mixer) if preset else None
    if base is None:
        return None
    # a version cannot be set: it belongs to the task
    ours = flatten(recipe) | {"task.version": 0}
    theirs = base | {"task.version": 0, "seed": recipe.seed}
    changed = {key: value for key, value in ours.items() if theirs.get(key, ...) != value}
    return Changes(changed, tuple(key for key in theirs if key not in ours))


@cache
def _base(preset: Preset, task: str, mixer: str) -> dict[str, Value] | None:
    recipe = preset(task, mixer, 0)
    return None if recipe is None else flatten(recipe)


def flatten(recipe: Recipe) -> dict[str, Value]:
    """List the values of a recipe under the keys that `--set` takes.

    Of a pretraining, its steps are listed, 0 if there is none, and what is not usual for the task.
    Of an extension, what is trained and what was different before are listed.
    """
    flat: dict[str, Value] = {}
    absent = {EXTENSION} if recipe.masking else {EXTENSION, MASKING}
    values = recipe.model_dump(mode="json", exclude=absent)
    values |= {PRETRAINING: _pretraining(recipe)}
    for name, value in values.items():
        if isinstance(value, dict):
            options = value.pop("options", {})
            flat |= {f"{name}.{key}": inner for key, inner in (value | options).items()}
            flat.pop(NOTED, None)
        else:
            flat[name] = value
    return flat | _extension(recipe, flat)


def _extension(recipe: Recipe, now: Mapping[str, Value]) -> dict[str, Value]:
    before = recipe_before(recipe)
    if before is None or recipe.extension is None:
        return {}
    then = {key: value for key, value in flatten(before).items() if key not in NO_SETTING}
    changed = {key: value for key, value in then.items() if now.get(key, ...) != value}
    about = {"free": recipe.extension.free, "length": recipe.extension.length} | changed
    return {f"{EXTENSION}.{key}": value for key, value in about.items()}


def _pretraining(recipe: Recipe) -> dict[str, Value]:
    chosen, usual = recipe.pretraining, usual_masking(recipe)
    if chosen is None:
        return {"steps": 0}
    values = chosen.model_dump(mode="json", exclude_defaults=True)
    known = usual.model_dump() if usual else {}
    return {key: value for key, value in values.items() if known.get(key, ...) != value}


def command(recipe: Recipe, machine: Machine | None = None) -> str | None:
    """Write the command that runs a recipe; None if only Python can build it.

    On a CPU the last digits depend on the number of threads, so the command names `machine`'s.
    """
    words = _extend_words(recipe) if recipe.extension else _train_words(recipe)
    if words is None:
        return None
    if machine is not None and machine.accelerator is None:
        words += ["--threads", str(machine.threads)]
    return shlex.join(words)


def _train_words(recipe: Recipe) -> list[str] | None:
    changed = _changed(recipe)
    if changed is None:
        return None
    words = ["longarena", "train", recipe.task.name, recipe.model.mixer]
    return [*words, "--preset", recipe.preset, "--seed", str(recipe.seed), *_sets(changed)]


def _extend_words(recipe: Recipe) -> list[str] | None:
    """Write the command that goes on from the run before, which must be there."""
    before, extension = recipe_before(recipe), recipe.extension
    if before is None or extension is None:
        return None
    options, earlier = recipe.task.options, before.task.options
    lengths = [options[name] for name in LENGTHS if options.get(name) != earlier.get(name)]
    if not lengths:
        return None
    steps, rate = recipe.steps, recipe.optimiser.rate
    usual = flatten(continued(before, options, steps, rate))
    changed = {key: value for key, value in flatten(recipe).items() if usual.get(key, ...) != value}
    sets = {k: v for k, v in changed.items() if not k.startswith(f"{EXTENSION}.")}
    words = ["longarena", "extend", before.id, "--length", str(lengths[0])]
    words += ["--only-positions"] if extension.free == "positions" else []
    return [*words, "--steps", str(steps), "--rate", f"{rate!r}", *_sets(sets)]


def sweep_command(
    recipe: Recipe,
    *options: str,
    varied: Collection[str] = (),
    tasks: str = "",
    mixers: str = "",
) -> str | None:
    """Write the command that sweeps around a recipe; None if only Python can build it.

    The options say what the runs differ in; the keys that they vary are set by them alone. By
    default the task and the mixer are those of the recipe.
    """
    changed = _changed(recipe)
    if changed is None:
        return None
    words = ["longarena", "sweep", "--tasks", tasks or recipe.task.name]
    words += ["--mixers", mixers or recipe.model.mixer, "--preset", recipe.preset]
    sets = _sets({key: value for key, value in changed.items() if key not in varied})
    return shlex.join([*words, *options, *sets])


def _changed(recipe: Recipe) -> dict[str, Value] | None:
    found = changes(recipe)
    # a start is trained by the command of the run that begins with it
    is_plain = recipe.masking is None and recipe.extension is None
    is_said = found is not None and not found.removed and is_plain
    return found.changed if found is not None and is_said else None


def _sets(changed: Mapping[str, Value]) -> list[str]:
    sets = {key: value for key, value in changed.items() if key != PRETRAIN}
    words = [word for key, value in sets.items() for word in ("--set", assign(key, value))]
    return [*(["--pretrain", str(changed[PRETRAIN])] if PRETRAIN in changed else []), *words]


def assign(key: str, value: Value) -> str:
    """Write `key=value` as `--set` reads it.

    >>> assign("steps", 50), assign("model.pooling", "cls"), assign("precision", "32")
    ('steps=50', 'model.pooling=cls', 'precision="32"')
    """
    is_plain = isinstance(value, str) and read_value(value) == value
    return f"{key}={value if is_plain else json.dumps(value)}"


def setting(recipe: Recipe, tuned: Collection[str] = ()) -> tuple[str, str]:
    """Write the changes to the preset: those of the mixer's options, and all others.

    Those of the task are left out, because the variant of the data and its fingerprint show them,
    and so are those of keys that were `tuned`, which differ by right.
    Without a preset to compare with, equal settings get equal words and different ones do not.
    """
    found = changes(recipe)
    changed = flatten(recipe) if found is None else found.changed
    changed = changed | dict.fromkeys(found.removed if found else (), "default")
    ignored = NO_SETTING.union(tuned, _follows_from_extension(recipe))
    kept = {k: v for k, v in changed.items() if k not in ignored and not k.startswith("task.")}
    options = {k.removeprefix("model."): v for k, v in kept.items() if _is_mixer_option(k)}
    others = write({k: v for k, v in kept.items() if not _is_mixer_option(k)})
    if found is None:
        others = f"settings {hashlib.sha256(others.encode()).hexdigest()[:8]}"
    return write(options), others


def _follows_from_extension(recipe: Recipe) -> set[str]:
    """List the keys of an extended run that say nothing new: its length, and its rates if usual."""
    before = recipe_before(recipe)
    if before is None:
        return set()
    usual = flatten(continued(before, recipe.task.options, recipe.steps))
    now = flatten(recipe)
    rates = {f"optimiser.{name}" for name in ("rate", "slow_rate")}
    lengths = {f"{EXTENSION}.task.{name}" for name in LENGTHS}
    return lengths | {key for key in rates if now[key] == usual[key]}


def write(values: Mapping[str, Value]) -> str:
    """Write values in one line, in the order of their keys."""
    return ", ".join(assign(key, value) for key, value in sorted(values.items()))


def _is_mixer_option(key: str) -> bool:
    section, _, name = key.partition(".")
    return section == "model" and name not in ModelConfig.model_fields
