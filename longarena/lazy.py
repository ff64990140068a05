"""Public names of a package that are imported when they are first used.

`longarena --help` must not wait for torch, so a package whose parts need torch only says which
module each of its names is in:

    export("longarena", {"train": "longarena.training.loop"})

Choice: descriptors on the module's class, not a module `__getattr__`, which is called only for
        names that are missing: importing the folder `longarena/measure` binds its name in the
        package and would hide the function `measure`.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType


class _Name:
    """A name that lives in another module."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __get__(self, package: ModuleType, kind: type[ModuleType]) -> object:
        return getattr(import_module(self._module), self._name)

    def __set__(self, package: ModuleType, value: object) -> None:
        """Ignore the value: an import tries to bind a folder of the same name here."""


def _part(package: ModuleType, name: str) -> ModuleType:
    """Import a part of a package when it is asked for: `longarena.attention`."""
    path = f"{package.__name__}.{name}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}") from None


def _all_names(package: ModuleType) -> list[str]:
    return sorted({*vars(package), *vars(type(package))})


def export(package: str, modules: Mapping[str, str]) -> None:
    """Give a package public names, each with the module that it is imported from."""
    members: dict[str, object] = {"__getattr__": _part, "__dir__": _all_names}
    members |= {name: _Name(module, name) for name, module in modules.items()}
    sys.modules[package].__class__ = type("Package", (ModuleType,), members)
