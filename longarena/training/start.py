"""The run that another begins with: its backbone, what it cost, and what it scored.

Of a pretraining only the backbone goes on: embedding, positions, layers and the state of their
norms. The head is new, and so is the optimiser. Where sequences become longer, see `extension.py`.
"""

from dataclasses import dataclass
from typing import Self

from longarena.data.tensors import check_fit
from longarena.errors import UserError
from longarena.model.model import Model
from longarena.records.record import RunRecord, StartRecord
from longarena.training.best import read_best
from longarena.training.folder import RunFolder

BACKBONE = "backbone."  # what the names of its tensors begin with in a model
LOWER = 3


@dataclass(frozen=True)
class Start:
    """A run that has ended, and its folder."""

    folder: RunFolder
    record: StartRecord

    @classmethod
    def of(cls, folder: RunFolder, found: RunRecord, length: int | None = None) -> Self:
        """Begin with a run, whose sequences were of this length; refuse one that diverged."""
        test, metrics = found.metrics.test, found.metrics
        if test is None and length is not None:
            raise UserError(f"run {found.id} has diverged, so there is nothing to go on with")
        if test is None:
            rate = found.recipe.optimiser.rate / LOWER
            raise UserError(
                f"the pretraining has diverged (run {found.id}); "
                f"lower its rate: --set pretraining.rate={rate:.2g}"
            )
        record = StartRecord(
            run=found.id,
            steps=metrics.steps,
            train_seconds=found.total_seconds,
            metric=found.metric,
            status=found.status,
            value=test.value,
            level=metrics.level,
            length=length,
        )
        return cls(folder, record)

    def load(self, model: Model) -> None:
        """Put the backbone that did best on validation into a model; its head stays as it is."""
        found = read_best(self.folder).tensors.items()
        tensors = {k.removeprefix(BACKBONE): value for k, value in found if k.startswith(BACKBONE)}
        try:
            check_fit(model.backbone.state_dict(), tensors)
        except ValueError as error:
            path = self.folder.path
            raise UserError(f"run {path} cannot be begun with: {error}; delete it") from None
        model.backbone.load_state_dict(tensors)
