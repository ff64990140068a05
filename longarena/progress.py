"""Show progress to a person: bars with rate and time left, or plain lines in a log file.

Library functions take a `Progress` and know nothing about terminals; `SILENT` shows nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from longarena.printable import printable

SECONDS_BETWEEN_LINES = 10.0
# a terminal of at least this many columns has room for a long bar
WIDE = 100
# the columns that bar, count, rate and time left take in a narrow terminal
BESIDE_THE_LABEL, SHORTEST_LABEL = 44, 12


def duration(seconds: float, num_units: int = 2) -> str:
    """Write a time span in its largest units.

    >>> duration(42.4), duration(200), duration(7300), duration(200_000)
    ('42 s', '3 min 20 s', '2 h 1 min', '2 d 7 h')
    >>> duration(7300, num_units=1)
    '2 h'
    """
    left = round(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= size or (unit == "s" and not parts):
            parts.append(f"{left // size} {unit}")
        left %= size
    return " ".join(parts[:num_units])


class Bar:
    """One job in progress: `advance` says how much was done, with a note worth reading."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.note = total, 0, ""

    def advance(self, amount: int = 1, note: str | None = None) -> None:
        """Count work as done; keep the last note if there is no new one."""
        self.done += amount
        self.note = self.note if note is None else note


class Progress:
    """Show nothing; the base of the two classes that show something."""

    @contextmanager
    def bar(self, label: str, total: int, done: int = 0) -> Iterator[Bar]:
        """Show a job of `total` pieces, of which `done` were finished earlier."""
        yield Bar(total)

    def say(self, line: str) -> None:
        """Print one line that stays."""


SILENT = Progress()


class TerminalProgress(Progress):
    """Live bars, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def bar(self, label: str, total: int, done: int = 0) -> Iterator[Bar]:
        width = self.console.width
        columns = (
            TextColumn("{task.description}", markup=False, table_column=_whole()),
            BarColumn(bar_width=24 if width >= WIDE else 8),
            TextColumn("{task.completed:.0f}/{task.total:.0f}", table_column=_whole()),
            _Rate(table_column=_whole()),
            TimeRemainingColumn(table_column=_whole()),
            _Note(),
        )
        with RichProgress(*columns, console=self.console) as rich:
            short = _shorten(label, max(SHORTEST_LABEL, width - BESIDE_THE_LABEL))
            job = rich.add_task(short, total=total, completed=done, note="", before=done)
            yield _TerminalBar(total, rich, job)

    def say(self, line: str) -> None:
        self.console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


class _TerminalBar(Bar):
    def __init__(self, total: int, rich: RichProgress, job: object) -> None:
        super().__init__(total)
        self._rich, self._job = rich, job

    def advance(self, amount: int = 1, note: str | None = None) -> None:
        super().advance(amount, note)
        self._rich.update(self._job, advance=amount, note=self.note)  # type: ignore[arg-type]


def _whole() -> Column:
    """Make a column that is never cut: if there is no room, only the note gives way."""
    return Column(no_wrap=True)


def _shorten(text: str, width: int) -> str:
    """Cut a text that is too long.

    >>> _shorten("training listops", 10)
    'training …'
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"


class _Note(ProgressColumn):
    """The note of a job, cut to the room that is left."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["note"], style="dim", no_wrap=True, overflow="ellipsis")


class _Rate(ProgressColumn):
    """Work per second, averaged over this process's part of the job."""

    def render(self, task: Task) -> Text:
        done = task.completed - task.fields["before"]
        return Text(_rate(done, task.elapsed or 0.0), style="cyan")


class LineProgress(Progress):
    """Plain lines now and then, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def bar(self, label: str, total: int, done: int = 0) -> Iterator[Bar]:
        bar = _LineBar(self, label, total, done)
        yield bar
        if bar.done:
            bar.tell()

    def say(self, line: str) -> None:
        self.console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


class _LineBar(Bar):
    def __init__(self, progress: LineProgress, label: str, total: int, before: int) -> None:
        super().__init__(total)
        self._progress, self._label, self._before = progress, label, before
        self._start = self._last = time.monotonic()

    def advance(self, amount: int = 1, note: str | None = None) -> None:
        super().advance(amount, note)
        if time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self.tell()

    def tell(self) -> None:
        """Print where the job stands."""
        self._last = time.monotonic()
        seconds = self._last - self._start
        left = seconds / self.done * (self.total - self._before - self.done) if self.done else 0.0
        parts = [f"{self._before + self.done}/{self.total}", _rate(self.done, seconds)]
        parts += [f"{left:.0f} s left"] if left >= 1 else []
        parts += [self.note] if self.note else []
        self._progress.say(f"{self._label}: {', '.join(parts)}")


def _rate(done: float, seconds: float) -> str:
    """Write a rate with three digits.

    >>> _rate(50, 10), _rate(123456, 10)
    ('5/s', '12,346/s')
    """
    rate = done / seconds if seconds > 0 else 0.0
    return f"{rate:,.0f}/s" if rate >= 1000 else f"{rate:.3g}/s"
