"""The folder of a run: runs/<task>/<mixer>/<id>/ with its recipe, log, checkpoints and record."""

import json
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longarena.data.files import make_way, naming, read_json, write_atomically
from longarena.errors import UserError, complete
from longarena.options import Value, parse
from longarena.recipes.recipe import Recipe
from longarena.records.answers import Answers, answers_path, read_answers
from longarena.records.folder import read_record
from longarena.records.record import Curve, RunRecord
from longarena.training.checkpoint import saved_steps

VALID = "valid_"  # what the names of validation scores begin with in the log
# the names of the log's numbers; one that was not finite is None
LogLine = dict[str, Any]


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path

    @classmethod
    def of(cls, runs: Path, recipe: Recipe) -> "RunFolder":
        """Return the folder where a recipe's run lives."""
        names = (recipe.task.name, recipe.model.mixer)
        return cls(runs.joinpath(*(name.replace(":", ".") for name in names), recipe.id))

    @property
    def lock(self) -> Path:
        return self.path / "run.lock"

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoint"

    @property
    def best(self) -> Path:
        return self.checkpoints / "best.safetensors"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def record(self) -> Path:
        return self.path / "record.json"

    @property
    def answers(self) -> Path:
        return answers_path(self.record)

    @property
    def errors(self) -> Path:
        """Where the errors of a run that failed in a sweep are."""
        return self.path / "errors.txt"

    def forget(self) -> None:
        """Delete what the run has found and where it stood, so that it starts anew."""
        for path in (self.record, self.answers, self.log):
            path.unlink(missing_ok=True)
        for folder in (self.checkpoints, self.tensorboard):
            shutil.rmtree(folder, ignore_errors=True)

    def read_recipe(self) -> Recipe:
        """Read the recipe of the run."""
        path = self.recipe
        try:
            found = read_json(path)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read {path}: {error}") from None
        if not isinstance(found, dict):
            raise UserError(f"cannot read {path}: it does not hold a recipe")
        return parse(Recipe, found, str(path))

    def last_step(self) -> int:
        """Return the last step in the log; 0 before the first line."""
        return max((line["step"] for line in self.read_log()), default=0)

    def read_log(self) -> list[LogLine]:
        """Read the lines of the log that are whole."""
        found = map(_read_line, _lines(self.log))
        return [line for line in found if line is not None]

    def read_curve(self) -> tuple[str, Curve]:
        """Read the metric's name and the validation scores so far off the log."""
        name, pace, points = "", 0.0, []
        for line in self.read_log():
            pace = line.get("steps_per_second") or pace
            found = [key for key in line if key.startswith(VALID) and key != f"{VALID}loss"]
            if found and line[found[0]] is not None:
                name = found[0].removeprefix(VALID)
                points.append((line["step"], line["step"] / pace if pace else 0.0, line[found[0]]))
        steps, seconds, values = ([each[at] for each in points] for at in range(3))
        return name, Curve(steps=steps, seconds=seconds, values=values)

    def last_checkpoint(self) -> int:
        """Return the step of the newest checkpoint; 0 if there is none."""
        return max(saved_steps(self.checkpoints), default=0)

    def changed_at(self) -> float:
        """Return when the run last wrote to its log, in seconds since the epoch."""
        path = self.log if self.log.exists() else self.path
        return path.stat().st_mtime

    def write_recipe(self, recipe: Recipe) -> None:
        """Write the recipe of the run."""
        write_atomically(self.recipe, recipe.model_dump_json(indent=2) + "\n")

    def read_record(self, recipe: Recipe | None = None) -> RunRecord | None:
        """Read the record of the run if it has ended; refuse one that is not of its recipe."""
        if not self.record.exists():
            return None
        try:
            record = read_record(self.record)
        except (OSError, ValueError):
            record = None
        if not isinstance(record, RunRecord):
            raise UserError(f"{self.record} is damaged; delete it and train again")
        if not record.id == record.recipe.id == (recipe or self.read_recipe()).id:
            raise UserError(f"{self.record} is of another run; delete it and train again")
        return record

    def read_answers(self, record: RunRecord) -> Answers | None:
        """Read the answers that belong to the record of the run, if it has any."""
        if record.answers is None:
            return None
        try:
            found = read_answers(self.answers)
        except (OSError, ValueError):
            found = None
        if found is None or found.digest != record.answers:
            raise UserError(f"{self.answers} is damaged; delete {self.path} and train again")
        return found


class Log:
    """One line of JSON per event; lines after the checkpoint of a resumed run are removed.

    It is for people: nothing is decided by it, so a damaged one loses lines and blocks nothing.
    """

    def __init__(self, path: Path, step: int) -> None:
        make_way(path)
        read = [(line, _read_line(line)) for line in _lines(path)]
        kept = [line for line, found in read if found is not None and found["step"] <= step]
        write_atomically(path, "".join(f"{line}\n" for line in kept))
        self._path = path

    def write(self, step: int, **values: Value) -> None:
        """Append one line."""
        with naming(self._path), self._path.open("a") as file:
            file.write(json.dumps({"step": step, **values}) + "\n")


def _lines(log: Path) -> list[str]:
    # not splitlines, which also cuts at characters that damage may bring
    return log.read_text(errors="replace").split("\n") if log.is_file() else []


def _read_line(line: str) -> LogLine | None:
    """Read a line of the log; None if it is damaged, or cut off because its writer was killed."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_whole = isinstance(found, dict) and type(found.get("step")) is int
    return found if is_whole and all(map(_is_plain, found.values())) else None


def _is_plain(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


def all_runs(runs: Path) -> list[RunFolder]:
    """List every run under a folder."""
    mixers = (mixer for task in _folders(str(runs)) for mixer in _folders(task))
    paths = (Path(run) for mixer in mixers for run in _folders(mixer))
    return [RunFolder(path) for path in paths if (path / "recipe.json").exists()]


def _folders(path: str) -> list[str]:
    """List the folders in a folder; 100,000 of them must not take long."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir())
    except OSError:
        return []


def find_run(runs: Path, name: str) -> RunFolder:
    """Find a run by its folder, or by the beginning of its id."""
    if RunFolder(Path(name)).recipe.exists():
        return RunFolder(Path(name))
    found = {run.path.name: run for run in all_runs(runs)}
    return found[complete("run", name, found)]
