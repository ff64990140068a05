"""Turn the text of a file into a record, or say in one line why it is not one.

A record comes from anywhere: its numbers must be finite and of a size that can be computed with.
"""

import json
import math
import re
import textwrap
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel, ValidationError

from longarena.records.record import Record

# as many digits as always fit into 64 bits
MAX_DIGITS = 18
MAX_REASON = 200
# no record is nearly as large
MAX_BYTES = 1 << 24
SUSPECT = re.compile(r"[0-9](?:[0-9]{17}|[eE]\+?[0-9]{3})")


class _AnyRecord(RootModel[Annotated[Record, Field(discriminator="kind")]]):
    """Any kind of record, told apart by its `kind`."""


def read_text(path: Path) -> str:
    """Read the text of a record; raise ValueError if the file cannot be one."""
    if not path.is_file():
        raise ValueError("this is not a file")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path.stat().st_size:,} bytes are more than a record has")
    return path.read_text(encoding="utf-8")


def parse_record(text: str) -> Record:
    """Turn the text of a file into its record; raise ValueError if it is not one."""
    record = _AnyRecord.model_validate_json(text).root
    # nothing can be computed with such numbers; most files have none, so the check is rare
    if SUSPECT.search(text) or "NaN" in text or "Infinity" in text:
        json.loads(text, parse_int=_count, parse_float=_finite, parse_constant=_finite)
    return record


def _count(text: str) -> int:
    if len(text) >= MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def reason(error: Exception) -> str:
    """Say in one short line why a file is not a record; the file may contain anything."""
    text = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    elif isinstance(error, OSError):
        text = error.strerror or text
    printable = "".join(c if c.isprintable() else " " for c in text)
    return textwrap.shorten(printable, MAX_REASON, placeholder=" ...") or type(error).__name__
