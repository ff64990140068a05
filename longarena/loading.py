"""Load a class from outside by `module:Class`, wherever the name of a built-in one can be given.

`source_digest` tells whether such a class was edited: it is a digest of the file of its module and
of the user's own files that it uses.

Choice: files of the same package count, and files beside a module that is in no package; libraries
        do not. Only what was imported when the class was loaded is looked at.
"""

import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from longarena.errors import UserError, unknown

Base = TypeVar("Base")
DIGEST_LENGTH = 10
LIBRARIES = "site-packages"
ALL = "all"


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


def spread(names: Iterable[str], every: Iterable[str]) -> list[str]:
    """Put all built-in names in the place of `all`; a name that is among them too comes once.

    >>> spread(["all", "mine:Own", "b"], ["a", "b"]), spread(["a", "a"], ["a", "b"])
    (['a', 'b', 'mine:Own'], ['a', 'a'])
    """
    named, known = list(names), list(every)
    if ALL not in named:
        return named
    found = [each for name in named for each in (known if name == ALL else [name])]
    return list(dict.fromkeys(found))


def source_digest(kind: type) -> str:
    """Return a digest of the files that a class from outside is made of; empty without any."""
    first = sys.modules[kind.__module__]
    found, waiting = dict[str, Path](), [first]
    while waiting:
        module = waiting.pop()
        path = _file(module)
        if path is not None and module.__name__ not in found:
            found[module.__name__] = path
            waiting += [used for used in _used_by(module) if _belongs(used, first)]
    digest = hashlib.sha256()
    for _, path in sorted(found.items()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:DIGEST_LENGTH] if found else ""


def _used_by(module: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules that a module imported, or whose functions and classes it did."""
    for value in list(vars(module).values()):
        used = value if isinstance(value, ModuleType) else None
        used = used or sys.modules.get(str(getattr(value, "__module__", "")))
        if used is not None:
            yield used


def _belongs(module: ModuleType, first: ModuleType) -> bool:
    """Tell whether a module is of the same package, or lies beside one that is in no package."""
    package, path, own = first.__name__.partition(".")[0], _file(module), _file(first)
    if path is None or own is None:
        return False
    is_beside = "." not in first.__name__ and path.parent == own.parent
    return module.__name__.partition(".")[0] == package or (
        is_beside and LIBRARIES not in own.parts
    )


def _file(module: ModuleType) -> Path | None:
    """Return the file of a module; None if it has none that can be read."""
    name = getattr(module, "__file__", None)
    path = Path(name).resolve() if isinstance(name, str) else None
    return path if path and path.is_file() else None
