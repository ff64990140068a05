"""Entries of an index: what a file was found to hold.

a run        its summary; setting, metric and machine are kept once for all runs
another      the record as it is: there are few measurements, tunings and failures
neither      the reason why the file is no record
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from longarena.records.parsing import MAX_BYTES, parse_record, reason
from longarena.records.record import RunRecord
from longarena.records.scan import Stamp
from longarena.records.summary import (
    AnyRecord,
    Details,
    Numbers,
    RunSummary,
    Setting,
    Source,
    digest_of,
    is_long,
    recipe_text,
    split_numbers,
)
from longarena.runtime import Machine
from longarena.tracks.metric import Metric


class Unreadable(NamedTuple):
    """A file that is no record, and why."""

    reason: str


Content = AnyRecord | Unreadable


class Entry(NamedTuple):
    """What a file held when it had this stamp.

    The digest is that of its bytes; it is empty if they could not be read, which may be otherwise
    the next time.
    """

    stamp: Stamp
    digest: str
    content: Content


@dataclass
class Shared:
    """What many runs have in common, each value once."""

    settings: dict[tuple[str, str, str, Metric], Setting] = field(default_factory=dict)
    metrics: dict[Metric, Metric] = field(default_factory=dict)
    machines: dict[Machine, Machine] = field(default_factory=dict)

    @classmethod
    def by(cls, entries: Iterable[Entry]) -> "Shared":
        """Gather what some runs have in common."""
        found = cls()
        runs = [each.content for each in entries if isinstance(each.content, RunSummary)]
        for setting in dict.fromkeys(run.setting for run in runs):
            found.metrics.setdefault(setting.metric, setting.metric)
            found.settings[found._key(setting)] = setting
        for machine in {id(run.machine): run.machine for run in runs}.values():
            found.machines.setdefault(machine, machine)
        return found

    def summary(self, path: Path, digest: str, record: RunRecord) -> RunSummary:
        """Sum up the record of a run."""
        source = Source(str(path), digest)
        return RunSummary(
            source=source,
            id=record.id,
            seed=record.seed,
            setting=self._setting(record),
            status=record.status,
            metrics=_numbers(record, source),
            answers=record.answers,
            start=record.start,
            machine=self.machines.setdefault(record.machine, record.machine),
            finished_at=record.finished_at,
            is_mislabelled=record.is_mislabelled,
        )

    def _setting(self, record: RunRecord) -> Setting:
        setting = Setting(
            text=recipe_text(record.recipe),
            preset=record.preset,
            task_name=record.task_name,
            mixer=record.mixer,
            metric=self.metrics.setdefault(record.metric, record.metric),
            variant=record.variant,
            fingerprint=record.fingerprint,
            is_masked=record.is_masked,
        )
        return self.settings.setdefault(self._key(setting), setting)

    @staticmethod
    def _key(setting: Setting) -> tuple[str, str, str, Metric]:
        return setting.text, setting.variant, setting.fingerprint, setting.metric


def _numbers(record: RunRecord, source: Source) -> Numbers:
    metrics = record.metrics
    long = tuple(name for name, detail in metrics.details.items() if is_long(detail))
    short = {name: detail for name, detail in metrics.details.items() if name not in long}
    return Numbers(
        valid=split_numbers(metrics.valid) if metrics.valid else None,
        test=split_numbers(metrics.test) if metrics.test else None,
        level=metrics.level,
        details=Details(short, long, source),
        steps=metrics.steps,
        steps_per_second=metrics.steps_per_second,
        tokens_per_second=metrics.tokens_per_second,
        parameters=metrics.parameters,
        train_seconds=metrics.train_seconds,
    )


def read_entry(path: Path, stamp: Stamp, known: Entry | None, shared: Shared) -> Entry:
    """Read what a file holds; what holds the same bytes as before is not looked through again."""
    digest = ""
    try:
        if stamp.size > MAX_BYTES:
            raise ValueError(f"{stamp.size:,} bytes are more than a record has")
        content = path.read_bytes()
        digest = digest_of(content)
        if known is not None and known.digest == digest:
            return Entry(stamp, digest, known.content)
        record = parse_record(content.decode())
    except (OSError, ValueError) as error:
        return Entry(stamp, digest, Unreadable(reason(error)))
    if isinstance(record, RunRecord):
        return Entry(stamp, digest, shared.summary(path, digest, record))
    return Entry(stamp, digest, record)
