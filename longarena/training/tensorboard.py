"""Write the numbers of the log as TensorBoard curves, under the same names."""

from importlib.util import find_spec
from pathlib import Path

from longarena.errors import UserError
from longarena.options import Value


def check_tensorboard() -> None:
    """Refuse before anything is trained if TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise UserError("TensorBoard is not installed; pip install 'longarena[tensorboard]'")


class TensorBoardLog:
    """Writes the numbers of a run as TensorBoard events; earlier ones beyond `step` are purged."""

    def __init__(self, path: Path, step: int) -> None:
        # it is an extra, and slow to import
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415

        self._events = SummaryWriter(str(path), purge_step=step + 1)

    def write(self, step: int, **values: Value) -> None:
        """Add a point to each curve."""
        for name, value in values.items():
            if isinstance(value, int | float):
                self._events.add_scalar(name, value, step)
        self._events.flush()
