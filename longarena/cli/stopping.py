"""Ctrl-C ends a command with a line that says what was kept."""

from collections.abc import Iterator
from contextlib import contextmanager

from longarena.training.stop import Interrupted


@contextmanager
def when_stopped(kept: str) -> Iterator[None]:
    """Say what was kept if the user stops the block; it decorates a whole command as well."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; {kept}") from None


def was_interrupted(error: BaseException | None) -> bool:
    """Tell whether an error goes back to Ctrl-C: an import that is interrupted may hide it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
