"""The columns of a user's table: `--text` and `--label`, short for two options of the task."""

import json
from typing import Annotated

import typer

Text = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Of your own table: the column of the text, or two as A,B."
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Of your own data: where the class stands (docs/own-data.md)."
    ),
]


def with_columns(assignments: list[str] | None, text: str | None, label: str | None) -> list[str]:
    """Add the columns to the values that are set.

    >>> with_columns(["steps=5"], "review", "1")
    ['steps=5', 'task.text="review"', 'task.label="1"']
    """
    given = {"text": text, "label": label}
    # quoted, because a column may be called 1 or true
    columns = [f"task.{key}={json.dumps(name)}" for key, name in given.items() if name is not None]
    return [*(assignments or []), *columns]
