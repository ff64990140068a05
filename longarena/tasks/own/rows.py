"""Rows of tables: some columns of a .csv, .tsv, .jsonl or .parquet file, one row after another.

    .csv       the first line names the columns; fields may be quoted and then hold new lines.
               Columns are parted by commas, or by semicolons if the first line has no comma
    .tsv       the same with tabs, and without quoting: a line is a row
    .jsonl     every line is an object
    .parquet   read by pyarrow, which is installed with `longarena[parquet]`

Text is UTF-8, with or without a mark at its beginning (BOM). A row that cannot be read is refused
with the number of its line; nothing is guessed and nothing left out.
"""

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from longarena.errors import UserError, unknown

MAX_FIELD = 1 << 24  # characters
MAX_LINE = 4 * MAX_FIELD  # bytes
BATCH = 1000

# where a row stands, for messages, and the values of the columns that were asked for
Row = tuple[str, list[str]]
Reader = Callable[[Path, Sequence[str], bool], Iterator[Row]]


def read_csv(path: Path, columns: Sequence[str], has_header: bool) -> Iterator[Row]:
    """Read a table with commas or semicolons between its columns."""
    lines = lines_of(path)
    first = next(lines, "")
    delimiter = ";" if ";" in first and "," not in first else ","
    csv.field_size_limit(MAX_FIELD)
    table = csv.reader(_chained(first, lines), delimiter=delimiter, strict=True)
    return _chosen(path, _csv_rows(path, table), columns, has_header)


def read_tsv(path: Path, columns: Sequence[str], has_header: bool) -> Iterator[Row]:
    """Read a table with tabs between its columns and a row in each line."""
    rows = (
        (number, line.rstrip("\r\n").split("\t"))
        for number, line in enumerate(lines_of(path), start=1)
        if line.rstrip("\r\n")
    )
    return _chosen(path, rows, columns, has_header)


def read_jsonl(path: Path, columns: Sequence[str], has_header: bool) -> Iterator[Row]:
    """Read an object from every line."""
    for number, line in enumerate(lines_of(path), start=1):
        place = f"{path.name}, line {number}"
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{place} is not JSON ({error})") from None
        if not isinstance(found, dict):
            raise UserError(f"{place} is not an object such as {{{', '.join(map(repr, columns))}}}")
        for column in columns:
            if column not in found:
                raise UserError(f"{place}: {unknown('field', column, found)}")
        yield place, [word(found[column], f"{place}, {column!r}") for column in columns]


def read_parquet(path: Path, columns: Sequence[str], has_header: bool) -> Iterator[Row]:
    """Read some columns of a Parquet file, a thousand rows at a time."""
    try:
        # an extra that most users do without
        from pyarrow import ArrowException  # noqa: PLC0415
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415
    except ImportError:
        raise UserError(
            f"{path.name}: pyarrow reads this; run: pip install 'longarena[parquet]'"
        ) from None
    number = 0
    try:
        with ParquetFile(path) as file:
            _positions(path, file.schema_arrow.names, columns)
            for batch in file.iter_batches(batch_size=BATCH, columns=list(dict.fromkeys(columns))):
                for values in batch.to_pylist():
                    number += 1
                    place = f"{path.name}, row {number}"
                    yield place, [word(values[name], f"{place}, {name!r}") for name in columns]
    except (ArrowException, OSError) as error:
        raise UserError(f"{path.name} is not a whole Parquet file ({error})") from None


FORMATS: dict[str, Reader] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".parquet": read_parquet,
}


def word(value: Any, place: str) -> str:
    """Write a value of a typed table as a text or the name of a class.

    >>> [word(value, "row 1") for value in ("good", 3, 2.0, 2.5, True)]
    ['good', '3', '2', '2.5', 'true']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    if isinstance(value, str | int | float) and not is_missing:
        return str(value)
    kind = "nothing" if is_missing else type(value).__name__
    raise UserError(f"{place} is {kind} instead of a text or a number")


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a file, each with its end; none may be gigantic."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE:
                raise UserError(f"{path.name}, line {number} is longer than {MAX_LINE:,} bytes")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path.name}, line {number} is not UTF-8 (byte {error.start + 1}); "
                    "save the file as UTF-8"
                ) from None


def _chained(first: str, lines: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from lines


def _csv_rows(path: Path, table: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line at which a row begins, and its fields; blank lines are none."""
    while True:
        number = table.line_num + 1
        try:
            fields = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            reason = str(error)
            if "field limit" in reason:
                reason = f"a field is longer than {MAX_FIELD:,} characters"
            raise UserError(
                f"{path.name}, line {number}: {reason}; is a quotation mark missing or too many?"
            ) from None
        if fields:
            yield number, fields


def _chosen(
    path: Path, rows: Iterator[tuple[int, list[str]]], columns: Sequence[str], has_header: bool
) -> Iterator[Row]:
    """Choose columns by their names, or by their numbers from 1 if there are no names."""
    number, first = next(rows, (1, []))
    if not first:
        raise UserError(f"{path.name} is empty")
    names = [name.strip() for name in first] if has_header else _numbers(first)
    chosen = _positions(path, names, columns)
    if not has_header:
        rows = _again(number, first, rows)
    for number, fields in rows:
        if len(fields) != len(names):
            raise UserError(
                f"{path.name}, line {number}: {len(fields)} columns instead of {len(names)}"
            )
        yield f"{path.name}, line {number}", [fields[at] for at in chosen]


def _numbers(fields: Sequence[str]) -> list[str]:
    return [str(number) for number in range(1, len(fields) + 1)]


def _again(
    number: int, first: list[str], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield number, first
    yield from rows


def _positions(path: Path, names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Find columns by their names, each of which must be there once."""
    for column in columns:
        if column not in names:
            raise UserError(
                f"{unknown(f'column of {path.name}', column, names)}; "
                "choose with --text COLUMN --label COLUMN"
            )
        if names.count(column) > 1:
            raise UserError(f"{path.name} has several columns called {column!r}; rename them")
    return [names.index(column) for column in columns]
