"""Checkpoints that can be trusted: tensors and a state under one digest, the last two or more kept.

    checkpoint/step-00000250.safetensors   parameters, buffers, optimiser, best parameters so far
    checkpoint/step-00000250.json          the state: everything that is not a tensor
    checkpoint/best.safetensors            the parameters that did best on validation

All are written atomically, the JSON last: a checkpoint exists when its JSON does. Tensors have a
digest (`data/tensors.py`); that of the JSON is of the state and of the tensors' digest. So nothing
can change unnoticed, and no two files that do not belong together pass for a checkpoint. One that
is damaged, or does not fit its run, is passed over for the one before.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from longarena.data.files import make_way, read_json, write_atomically
from longarena.data.tensors import State, Tensors, digest_of, load_tensors, save_tensors
from longarena.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

KEPT = 2
MODEL = "model/"  # what the names of the model's tensors begin with
# eight digits, or more where eight are too few
NAME = re.compile(r"step-([0-9]{8}|[1-9][0-9]{8,15})\.json")

Result = TypeVar("Result")


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run: everything needed to go on from there."""

    step: int
    tensors: Tensors
    state: State


def save(folder: Path, checkpoint: Checkpoint, kept_number: int = KEPT) -> None:
    """Write a checkpoint; remove all but the last ones, and what killed processes left behind."""
    step = checkpoint.step
    digest = save_tensors(tensor_path(folder, step), checkpoint.tensors, {"step": step})
    state = {"step": step, "tensors": digest, "state": checkpoint.state}
    path = state_path(folder, step)
    make_way(path)
    write_atomically(path, json.dumps(state | {"sha256": digest_of(state)}))
    # what lies beyond this step was damaged, or the run would not have come here again
    steps = [each for each in saved_steps(folder) if each <= step]
    kept = {state_path(folder, each).stem for each in steps[-max(KEPT, kept_number) :]}
    # in this order the JSON of a checkpoint is removed before its tensors
    for path in [*sorted(folder.glob("step-*")), *folder.glob(".*.partial")]:
        if path.stem not in kept and path.is_file():
            path.unlink()


def latest(folder: Path, progress: Progress, use: Callable[[Checkpoint], Result]) -> Result | None:
    """Return what `use` makes of the newest checkpoint that is intact; say which ones are not.

    `use` raises ValueError for a checkpoint that does not fit.
    """
    for step in reversed(saved_steps(folder)):
        try:
            return use(read(folder, step))
        except (OSError, ValueError) as error:
            progress.say(
                f"the checkpoint of step {step} is damaged ({error}); taking the one before"
            )
    return None


def average(folder: Path, number: int) -> tuple[Tensors, int]:
    """Return the mean of the model in the last checkpoints that are intact, and their number.

    What is not a fraction, such as a count, is that of the last.
    """
    models: list[Tensors] = []
    for step in saved_steps(folder)[-number:]:
        with suppress(OSError, ValueError):
            tensors = read(folder, step).tensors.items()
            models.append(
                {key.removeprefix(MODEL): t for key, t in tensors if key.startswith(MODEL)}
            )
    last = models[-1] if models else {}
    return {key: _mean([each[key] for each in models]) for key in last}, len(models)


def _mean(tensors: "Sequence[Tensor]") -> "Tensor":
    """Average tensors in double precision."""
    *others, last = tensors
    if not last.is_floating_point():
        return last
    total = last.double()
    for other in others:
        total = total + other.double()
    return (total / len(tensors)).to(last.dtype)


def read(folder: Path, step: int) -> Checkpoint:
    """Read a checkpoint; raise ValueError if it is not as it was written."""
    state, digest = _read_state(folder, step)
    found = load_tensors(tensor_path(folder, step))
    if found.digest != digest:
        raise ValueError("its tensors are those of another checkpoint")
    return Checkpoint(step, found.tensors, state)


def latest_state(folder: Path) -> State | None:
    """Read what is not a tensor of the newest checkpoint; None if it cannot be read."""
    try:
        return _read_state(folder, saved_steps(folder)[-1])[0]
    except (IndexError, OSError, ValueError):
        return None


def _read_state(folder: Path, step: int) -> tuple[State, str]:
    """Read a state, and the digest of the tensors that belong to it."""
    found = read_json(state_path(folder, step))
    match found:
        case {"step": named, "tensors": str(tensors), "state": dict(state), "sha256": digest}:
            about = {"step": named, "tensors": tensors, "state": state}
        case _:
            raise ValueError("its state has no digest")
    if digest_of(about) != digest:
        raise ValueError("the digest of its state does not match")
    if named != step:
        raise ValueError(f"it is that of step {named}")
    return state, tensors


def saved_steps(folder: Path) -> list[int]:
    """List the steps that have a checkpoint, the newest last."""
    return named_steps(path.name for path in folder.glob("step-*.json") if path.is_file())


def named_steps(names: Iterable[str]) -> list[int]:
    """List the steps whose checkpoints files of these names are, the newest last.

    >>> named_steps(["step-00000250.json", "step-00000250.safetensors", "step-00000100.json"])
    [100, 250]
    """
    found = map(NAME.fullmatch, names)
    return sorted(int(name[1]) for name in found if name)


def state_path(folder: Path, step: int) -> Path:
    """Return where the state of a checkpoint is; the checkpoint exists when this file does."""
    return folder / f"step-{step:08d}.json"


def tensor_path(folder: Path, step: int) -> Path:
    """Return where the tensors of a checkpoint are."""
    return folder / f"step-{step:08d}.safetensors"
