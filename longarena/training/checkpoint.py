"""Checkpoints that can be trusted: tensors and a state, verified, the last two or more kept.

    checkpoint/step-00000250.safetensors   parameters, buffers and optimiser state
    checkpoint/step-00000250.json          everything that is not a tensor
    checkpoint/best.safetensors            the parameters that did best on validation

All are written atomically, the JSON last: a checkpoint exists when its JSON does. Tensors carry
their digest; where it does not match, the checkpoint before is used. Nothing is ever unpickled.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import safetensors

from longarena.data.files import write_atomically
from longarena.options import Value
from longarena.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

KEPT = 2
MODEL = "model/"  # what the names of the model's tensors begin with

Tensors = Mapping[str, "Tensor"]


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run: everything needed to go on from there."""

    step: int
    tensors: Tensors
    state: dict[str, Value]


def save(folder: Path, checkpoint: Checkpoint, kept_number: int = KEPT) -> None:
    """Write a checkpoint; remove all but the last ones, and what killed processes left behind."""
    save_tensors(_tensor_path(folder, checkpoint.step), checkpoint.tensors)
    write_atomically(_state_path(folder, checkpoint.step), json.dumps(checkpoint.state))
    steps = saved_steps(folder)[-max(KEPT, kept_number) :]
    kept = {_state_path(folder, step).stem for step in steps}
    # in this order the JSON of a checkpoint is removed before its tensors
    for path in [*sorted(folder.glob("step-*")), *folder.glob(".*.partial")]:
        if path.stem not in kept:
            path.unlink()


def latest(folder: Path, progress: Progress) -> Checkpoint | None:
    """Read the newest checkpoint that is intact; say which ones are not."""
    for step in reversed(saved_steps(folder)):
        try:
            return _read(folder, step)
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
            tensors = load_tensors(_tensor_path(folder, step)).items()
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


def latest_state(folder: Path) -> dict[str, Value] | None:
    """Read what is not a tensor of the newest checkpoint; None if it cannot be read."""
    try:
        found = json.loads(_state_path(folder, saved_steps(folder)[-1]).read_text())
    except (IndexError, OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def save_tensors(path: Path, tensors: Tensors) -> None:
    """Write tensors atomically, with their digest."""
    # not at the top: listing runs reads their steps, and must not wait for torch
    import safetensors.torch  # noqa: PLC0415

    # copies, because the format refuses tensors that share memory (parameters used twice)
    copies = {key: tensor.detach().cpu().clone() for key, tensor in tensors.items()}
    write_atomically(path, safetensors.torch.save(copies, {"sha256": _digest(copies)}))


def load_tensors(path: Path) -> Tensors:
    """Read the tensors of a file; raise ValueError if they do not match their digest."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            expected = (file.metadata() or {}).get("sha256")
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    if _digest(tensors) != expected:
        raise ValueError("its digest does not match")
    return tensors


def _digest(tensors: Tensors) -> str:
    found = hashlib.sha256()
    for key in sorted(tensors):
        found.update(key.encode())
        found.update(tensors[key].numpy().tobytes())
    return found.hexdigest()


def _read(folder: Path, step: int) -> Checkpoint:
    state = json.loads(_state_path(folder, step).read_text())
    return Checkpoint(step, load_tensors(_tensor_path(folder, step)), state)


def saved_steps(folder: Path) -> list[int]:
    """List the steps that have a checkpoint, the newest last."""
    return sorted(int(path.stem.removeprefix("step-")) for path in folder.glob("step-*.json"))


def _state_path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}.json"


def _tensor_path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}.safetensors"
