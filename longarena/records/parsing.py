"""Turn the text of a file into a record, or say in one line why it is not one.

A record comes from anywhere: its numbers must be finite and of a size that can be computed with,
which the types of its fields see to (`options.py`).
"""

import hashlib
import json
import textwrap
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel, ValidationError

from longarena.records.record import Record

NO_FILE = "this is not a file"
MAX_REASON = 200
# no record is nearly as large
MAX_BYTES = 1 << 24


class _AnyRecord(RootModel[Annotated[Record, Field(discriminator="kind")]]):
    """Any kind of record, told apart by its `kind`."""


@cache
def form() -> str:
    """Return a digest of what records may hold, which differs where another set of rules does."""
    return hashlib.sha256(json.dumps(_AnyRecord.model_json_schema()).encode()).hexdigest()


def read_text(path: Path) -> str:
    """Read the text of a record; raise ValueError if the file cannot be one."""
    if not path.is_file():
        raise ValueError(NO_FILE)
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path.stat().st_size:,} bytes are more than a record has")
    return path.read_text(encoding="utf-8")


def parse_record(text: str) -> Record:
    """Turn the text of a file into its record; raise ValueError if it is not one."""
    return _AnyRecord.model_validate_json(text).root


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
