"""From a run to a model that needs no training code: its best weights and what they mean.

The weights are those that its record was tested with: the best on validation, or the mean of the
last checkpoints where that was better. A run that has not ended gives its best so far.
"""

from pathlib import Path

import torch

from longarena.data.tokens import Tokeniser, read_tokeniser
from longarena.inference.config import ExportedConfig, TestScore, TrainedOn
from longarena.inference.exported import TOKENISER, Exported
from longarena.inference.trained import TrainedModel, load
from longarena.recipes.recipe import Recipe, build_task, note_source, signature_of
from longarena.records.record import RunRecord
from longarena.tasks.base import Task, default_home
from longarena.tasks.prepare import open_prepared
from longarena.training.best import BestState, check_data, read_best
from longarena.training.folder import RunFolder, find_run
from longarena.version import __version__


def exported(folder: RunFolder) -> Exported:
    """Collect everything that the model of a run needs without its run."""
    recipe = note_source(folder.read_recipe())
    task, best = build_task(recipe), read_best(folder)
    tokeniser = _tokeniser(folder, task, best.state) if _has_tokeniser(task) else None
    config = ExportedConfig(
        longarena=__version__,
        run=recipe.id,
        step=best.state.step,
        model=recipe.model,
        signature=signature_of(recipe, task),
        seed=recipe.seed,
        raw_input=task.raw_input,
        classes=() if recipe.masking else task.class_names,
        decoding=recipe.decoding,
        trained_on=_trained_on(recipe, best.state.fingerprint),
        test=_test_score(folder.read_record()),
    )
    return Exported(config, best.tensors, tokeniser)


def find_model(runs: Path, name: str) -> TrainedModel:
    """Load an exported model by its folder, or the model of a run; on a GPU if there is one."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folder = Path(name)
    if folder.is_dir() and not (folder / "recipe.json").exists():
        return load(folder, device)
    return TrainedModel(exported(find_run(runs, name))).to(device)


def _has_tokeniser(task: Task) -> bool:
    return task.raw_input.kind == "text" and task.raw_input.has_tokeniser


def _tokeniser(folder: RunFolder, task: Task, state: BestState) -> Tokeniser:
    """Read what made the tokens of the run's data, which lies beside them."""
    data = open_prepared(task, default_home(), verify=False)
    check_data(state.fingerprint, data, folder)
    return read_tokeniser((data.folder / TOKENISER).read_text(encoding="utf-8"))


def _trained_on(recipe: Recipe, fingerprint: str) -> TrainedOn:
    choice = recipe.task
    return TrainedOn(
        task=choice.name,
        version=choice.version,
        data=choice.data,
        options=choice.options,
        size=choice.size,
        shuffle=choice.shuffle,
        fingerprint=fingerprint,
    )


def _test_score(record: RunRecord | None) -> TestScore | None:
    if record is None or record.metrics.test is None:
        return None
    test = record.metrics.test
    return TestScore(
        metric=record.metric, value=test.value, error=test.error, examples=test.examples
    )
