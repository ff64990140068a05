"""Every run under a folder, as far as it has come; the records of many by way of an index."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longarena.errors import UserError
from longarena.progress import SILENT, Progress
from longarena.records.folder import SMALL
from longarena.records.index import read_contents
from longarena.records.scan import RecordFile, stamp
from longarena.records.summary import Run, RunSummary
from longarena.training.folder import RunFolder


@dataclass(frozen=True)
class DamagedRun:
    """A run whose recipe or record cannot be read."""

    folder: RunFolder


# one that has not ended is its folder
ListedRun = Run | RunFolder | DamagedRun


def read_runs(
    runs: Path, folders: Sequence[RunFolder], progress: Progress = SILENT
) -> list[ListedRun]:
    """Read the records of some runs under a folder."""
    if len(folders) <= SMALL:
        return [_read(folder) for folder in folders]
    files = [RecordFile(os.path.relpath(each.record, runs), stamp(each.record)) for each in folders]
    ended = [file for file in files if file.stamp]
    found = dict(zip(ended, read_contents(runs, ended, progress), strict=True))
    return [_take(folder, found.get(file)) for folder, file in zip(folders, files, strict=True)]


def _take(folder: RunFolder, content: object) -> ListedRun:
    """Take a summary of the very run that the folder is for; look closely at all else."""
    match content:
        case RunSummary(id=folder.path.name, is_mislabelled=False):
            return content
    return _read(folder)


def _read(folder: RunFolder) -> ListedRun:
    try:
        return folder.read_record(folder.read_recipe()) or folder
    except UserError:
        return DamagedRun(folder)
