"""Numbers that take long to compute and depend on nothing but what is asked, kept on disk.

A line per number: the digest of what was asked, the number, and a digest of both, which tells a
damaged line. Lines are only ever added, so several processes may do so at once.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# as many lines as 10,000 comparisons make; then the file begins anew
MAX_BYTES = 1 << 20


def kept(path: Path, asked: str, compute: Callable[[], float]) -> float:
    """Return the number that `asked` names: the one that was kept, or a new one, which is kept."""
    found = _read(path).get(asked)
    if found is None:
        found = compute()
        with suppress(OSError):  # without a place for it, it is computed again
            _add(path, f"{asked} {found!r}")
    return found


def _read(path: Path) -> dict[str, float]:
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return {}
    whole = [line.rpartition(" ") for line in lines]
    pairs = [text.split(" ") for text, _, check in whole if _check(text) == check]
    return {asked: float(number) for asked, number in pairs}


def _add(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_full = path.exists() and path.stat().st_size > MAX_BYTES
    # a line of its own after one that was cut off
    with path.open("w" if is_full else "a", encoding="ascii") as file:
        file.write(f"\n{text} {_check(text)}\n")


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
