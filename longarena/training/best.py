"""The parameters of a run that did best on validation: which run's, at which step, on which data.

They lie in a file of their own, and in every checkpoint: a file that is damaged can be recovered.
`load_run` builds the model of a run around them.
"""

from dataclasses import dataclass
from pathlib import Path

from longarena.data.dataset import Dataset
from longarena.data.tensors import Tensors, check_fit, load_tensors, save_tensors
from longarena.errors import UserError
from longarena.model.model import Model
from longarena.options import Options
from longarena.progress import SILENT
from longarena.recipes.recipe import Recipe, build_task, note_source, signature_of
from longarena.tasks.base import Task
from longarena.tasks.signature import Signature
from longarena.tracks import track_of
from longarena.tracks.base import Track
from longarena.training import checkpoint
from longarena.training.checkpoint import Checkpoint
from longarena.training.folder import RunFolder

PREFIX = "best/"  # of their names in a checkpoint


class BestState(Options):
    """Where parameters come from: the run, the fingerprint of its data, and the step."""

    run: str
    fingerprint: str
    step: int


@dataclass(frozen=True)
class Best:
    """Parameters, and where they come from."""

    state: BestState
    tensors: Tensors

    def write(self, path: Path) -> None:
        """Write them to a file of their own."""
        save_tensors(path, self.tensors, self.state.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path) -> "Best":
        """Read such a file; raise ValueError if it is not as it was written."""
        found = load_tensors(path)
        return cls(BestState.model_validate(found.about), found.tensors)

    @classmethod
    def of(cls, found: Checkpoint) -> "Best":
        """Take them out of a checkpoint; raise ValueError if it has none."""
        names = {"run": "run", "fingerprint": "fingerprint", "step": "best_step"}
        state = {key: found.state.get(name) for key, name in names.items()}
        tensors = {
            key.removeprefix(PREFIX): value
            for key, value in found.tensors.items()
            if key.startswith(PREFIX)
        }
        if not tensors:
            raise ValueError("it has no best parameters")
        return cls(BestState.model_validate(state), tensors)


def read_best(folder: RunFolder) -> Best:
    """Read the best parameters of a run, if need be out of its last checkpoint."""
    run, record = folder.read_recipe().id, folder.read_record()
    step = record.metrics.best_step if record else None

    def own(best: Best) -> Best:
        if best.state.run != run or step not in (None, best.state.step):
            raise ValueError(f"it is of step {best.state.step} of run {best.state.run}")
        return best

    if not folder.best.exists():
        raise UserError(f"run {run} has not been validated yet; train it further first")
    try:
        return own(Best.read(folder.best))
    except (OSError, ValueError) as error:
        found = checkpoint.latest(folder.checkpoints, SILENT, lambda found: own(Best.of(found)))
        if found is None:
            raise UserError(
                f"{folder.best} is damaged ({error}); delete {folder.path} and train again"
            ) from None
        return found


@dataclass(frozen=True)
class BestModel:
    """The model of a run with its best parameters, and everything that it was built from."""

    recipe: Recipe
    task: Task
    signature: Signature
    track: Track
    model: Model
    state: BestState


def load_run(folder: RunFolder) -> BestModel:
    """Build the model of a run and put its best parameters into it."""
    recipe = note_source(folder.read_recipe())
    task = build_task(recipe)
    signature = signature_of(recipe, task)
    track = track_of(signature)
    model = track.build(recipe.model, signature, recipe.seed)
    best = read_best(folder)
    try:
        check_fit(model.state_dict(), best.tensors)
    except ValueError as error:
        raise UserError(
            f"{folder.best} is of another version of longarena ({error}); train the run again"
        ) from None
    model.load_state_dict(best.tensors)
    return BestModel(recipe, task, signature, track, model, best.state)


def check_data(fingerprint: str, data: Dataset, run: RunFolder) -> None:
    """Refuse data that is not what a run was trained on."""
    if fingerprint != data.fingerprint:
        raise UserError(
            f"run {run.path.name} was trained on data with the fingerprint {fingerprint}, but "
            f"{data.folder} has {data.fingerprint}; prepare the data of the run again"
        )
