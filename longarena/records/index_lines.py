"""The lines of an index: metrics, machines and settings, then an entry per line, all as JSON."""

import json
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from longarena.records.entries import Content, Entry, Unreadable
from longarena.records.parsing import parse_record
from longarena.records.record import StartRecord
from longarena.records.scan import Stamp
from longarena.records.summary import (
    Details,
    Numbers,
    RunSummary,
    Setting,
    Source,
    SplitNumbers,
)
from longarena.runtime import Machine
from longarena.tracks.metric import Metric

RUN, OTHER, UNREADABLE = range(3)

Part = TypeVar("Part", bound=Hashable)

# a list that JSON gave, or will: its values stand in the order in which `_line` writes them
Line = list[Any]


def pack(entries: Mapping[str, Entry]) -> Iterator[bytes]:
    """Write entries under the names of their files."""
    runs = [each.content for each in entries.values() if isinstance(each.content, RunSummary)]
    settings = _numbers(run.setting for run in runs)
    machines = _numbers(run.machine for run in runs)
    metrics = _numbers(setting.metric for setting in settings)
    yield _json([each.model_dump(mode="json") for each in metrics])
    yield _json([each.model_dump(mode="json") for each in machines])
    yield _json([_setting(each, metrics) for each in settings])
    for name, entry in entries.items():
        yield _json([name, *_line(entry, settings, machines)])


def unpack(lines: Iterator[bytes], root: str) -> dict[str, Entry]:
    """Read entries of the files below a folder."""
    metrics = [Metric(**each) for each in json.loads(next(lines))]
    machines = [Machine(**each) for each in json.loads(next(lines))]
    settings = [
        Setting(**{**each, "metric": metrics[each["metric"]]}) for each in json.loads(next(lines))
    ]
    found = {}
    for line in lines:
        name, stamp, digest, kind, *values = json.loads(line)
        content: Content
        if kind == RUN:
            source = Source(f"{root}{os.sep}{name}", digest)
            content = _summary(source, values, settings, machines)
        elif kind == OTHER:
            content = parse_record(*values)
        else:
            content = Unreadable(*values)
        found[name] = Entry(Stamp(*stamp), digest, content)
    return found


def _numbers(values: Iterable[Part]) -> dict[Part, int]:
    """Give different values numbers in the order in which they come."""
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _setting(setting: Setting, metrics: Mapping[Metric, int]) -> dict[str, Any]:
    values = {each.name: getattr(setting, each.name) for each in fields(setting)}
    return values | {"metric": metrics[setting.metric]}


def _line(entry: Entry, settings: Mapping[Setting, int], machines: Mapping[Machine, int]) -> Line:
    content, head = entry.content, [entry.stamp, entry.digest]
    if isinstance(content, Unreadable):
        return [*head, UNREADABLE, content.reason]
    if not isinstance(content, RunSummary):
        return [*head, OTHER, content.model_dump_json()]
    valid, test, level, details, *rest = content.metrics
    return [
        *(*head, RUN, content.id, content.seed),
        settings[content.setting],
        *(content.status, content.answers),
        content.start.model_dump(mode="json") if content.start else None,
        machines[content.machine],
        *(content.finished_at, content.is_mislabelled),
        (valid, test, level, details.parts, *rest),
    ]


def _summary(
    source: Source, values: Line, settings: Sequence[Setting], machines: Sequence[Machine]
) -> RunSummary:
    name, seed, setting, status, answers, start, machine, *ending, numbers = values
    valid, test, level, (short, long), *rest = numbers
    metrics = Numbers(
        SplitNumbers(*valid) if valid else None,
        SplitNumbers(*test) if test else None,
        level,
        Details(short, tuple(long), source),
        *rest,
    )
    return RunSummary(
        *(source, name, seed, settings[setting], status, metrics, answers),
        *(StartRecord(**start) if start else None, machines[machine], *ending),
    )
