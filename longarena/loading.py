"""Load a class from outside by `module:Class`, wherever the name of a built-in one can be given."""

import importlib
import sys
from collections.abc import Iterable
from typing import TypeVar

from longarena.errors import UserError, unknown

Base = TypeVar("Base")


def load_class(kind: str, name: str, base: type[Base], known: Iterable[str]) -> type[Base]:
    """Import the class that `module:Class` names; refuse anything that is not a subclass of `base`.

    `known` are the built-in names; the error for an unknown name suggests the nearest.
    """
    if ":" not in name:
        raise unknown(kind, name, known)
    module, _, attribute = name.partition(":")
    if "" not in sys.path:  # a command finds the files of the folder in which it is called
        sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot load the {kind} {name!r}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, base)):
        raise UserError(f"{name!r} is not a subclass of {base.__module__}.{base.__name__}")
    return found
