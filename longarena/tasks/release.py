"""The tables of the LRA release: three files of tab-separated rows, one for each split.

    lra_release/lra_release/listops-1000/basic_{train,val,test}.tsv
    lra_release/lra_release/tsv_data/new_aan_pairs.{train,eval,test}.tsv

The release holds some of them twice, once in each `lra_release`; the inner copy counts.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import IO

from longarena.data.archive import Source
from longarena.data.download import Download
from longarena.errors import UserError
from longarena.tasks.splits import Example

MOST_LINE = 1 << 26
DOWNLOAD = Download("https://storage.googleapis.com/long-range-arena/lra_release.gz", None)


def read_tables(
    source: Source, splits: Mapping[str, str], parse: Callable[[str, IO[bytes]], list[Example]]
) -> dict[str, list[Example]]:
    """Parse the file of each split, given by its name; of two copies take the inner one."""
    found: dict[str, tuple[int, list[Example]]] = {}
    for name, file in source.members(lambda name: name.rpartition("/")[2] in splits):
        split, depth = splits[name.rpartition("/")[2]], name.count("/")
        if split not in found or found[split][0] < depth:
            found[split] = depth, parse(name, file)
            if not found[split][1]:
                raise UserError(f"{name} has no rows")
    missing = [name for name, split in splits.items() if split not in found]
    if missing:
        raise UserError(f"{source.path} has no {' and no '.join(missing)}")
    return {split: found[split][1] for split in splits.values()}


def rows(name: str, file: IO[bytes], num_columns: int) -> Iterator[tuple[str, list[bytes]]]:
    """Yield where each row stands, for messages, and its columns; there is no quoting."""
    lines = iter(lambda: file.readline(MOST_LINE + 1), b"")
    for number, line in enumerate(lines, start=1):
        place = f"{name}, line {number}"
        if len(line) > MOST_LINE:
            raise UserError(f"{place} has more than {MOST_LINE:,} bytes")
        columns = line.rstrip(b"\r\n").split(b"\t")
        if len(columns) != num_columns:
            raise UserError(f"{place}: {len(columns)} columns instead of {num_columns}")
        yield place, columns
