"""Options: small frozen models that refuse what they do not know.

Every task and every mixer declares its options as a subclass of `Options`; a recipe is made of
them. A wrong key or value becomes one line with the nearest names or the accepted range.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic import JsonValue as Value

from longarena.errors import UserError, unknown

__all__ = [
    "Choices",
    "Natural",
    "Options",
    "Positive",
    "Value",
    "Values",
    "parse",
    "read_assignments",
    "read_value",
    "refusal",
]

Model = TypeVar("Model", bound=BaseModel)
Checked = TypeVar("Checked")

# as far as every reader of JSON counts without rounding
MOST = 2**53 - 1
MOST_SHOWN = 80


def _check_numbers(value: Checked) -> Checked:
    """Refuse numbers that cannot be read back from a file."""
    match value:
        case dict():
            for each in value.values():
                _check_numbers(each)
        case list():
            for each in value:
                _check_numbers(each)
        case float() if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number")
        case int() if abs(value) > MOST:
            raise ValueError(f"a number beyond {MOST:,}")
    return value


Natural = Annotated[int, Field(ge=0, le=MOST)]
Positive = Annotated[int, Field(gt=0, le=MOST)]
# the options of a task or a mixer, as a recipe has them; and several of them to choose from
Values = Annotated[dict[str, Value], AfterValidator(_check_numbers)]
Choices = Annotated[dict[str, list[Value]], AfterValidator(_check_numbers)]


class Options(BaseModel):
    """A frozen value; all its fields are validated, and unknown ones are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )


def parse(model: type[Model], values: Mapping[str, object], where: str) -> Model:
    """Build `model` from plain values; say in one line what is wrong with them.

    >>> class Window(Options):
    ...     size: int = 3
    >>> parse(Window, {"size": 5}, "window")
    Window(size=5)
    >>> parse(Window, {"sise": 5}, "window")
    Traceback (most recent call last):
    longarena.errors.UserError: unknown option of window 'sise'; did you mean size? (known: size)
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise refusal(error, where, model.model_fields) from None


def refusal(error: ValidationError, where: str, known: Iterable[str] = ()) -> UserError:
    """Say in one line what is wrong with some values."""
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return unknown(f"option of {where}", path, known)
    # pydantic prefixes the message of our own validators with its class
    reason = first["msg"].removeprefix("Value error, ")
    # a whole section would fill the screen
    is_short = path and not isinstance(first["input"], dict)
    value = f" = {shorten(first['input'])}" if is_short else ""
    return UserError(f"{where}: {path + value + ': ' if path else ''}{reason}")


def shorten(value: object) -> str:
    """Write a value for a message, which is one line however long the value is."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ..."


def read_assignments(assignments: Iterable[str], section: str = "") -> dict[str, Value]:
    """Read lines of `key=value`; a value is JSON, or else a plain word.

    A key may begin with the name of the section, which is implied.

    >>> read_assignments(["rate=0.1", "sizes=[1, 2]", "model.pooling=mean"], section="model")
    {'rate': 0.1, 'sizes': [1, 2], 'pooling': 'mean'}
    """
    values: dict[str, Value] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UserError(f"--set {assignment!r} is not of the form key=value")
        name = key.strip()
        values[name.removeprefix(f"{section}.") if section else name] = read_value(text)
    return values


def read_value(text: str) -> Value:
    """Read a value as JSON, or else as a plain word."""
    try:
        value: Value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
