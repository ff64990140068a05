"""Options: small frozen models that refuse what they do not know.

Every task and every mixer declares its options as a subclass of `Options`; a recipe is made of
them. A wrong key or value becomes one line with the nearest names or the accepted range.
"""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import JsonValue as Value

from longarena.errors import UserError, unknown

__all__ = ["Options", "Value", "parse"]

Model = TypeVar("Model", bound=BaseModel)


class Options(BaseModel):
    """A frozen value whose every field is validated and named."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


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
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise unknown(f"option of {where}", path, model.model_fields) from None
        # a validator of ours speaks for itself; pydantic prefixes it with its class
        reason = first["msg"].removeprefix("Value error, ")
        value = f" = {first['input']!r}" if path else ""
        raise UserError(f"{where}: {path + value + ': ' if path else ''}{reason}") from None
