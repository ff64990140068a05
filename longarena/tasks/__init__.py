"""What is asked: one file per task, and the table of them."""

from collections.abc import Mapping

from longarena.errors import unknown
from longarena.options import parse
from longarena.tasks.base import Task
from longarena.tasks.image import Image
from longarena.tasks.listops import ListOps
from longarena.tasks.pathfinder import Pathfinder, Pathfinder64, Pathfinder256, PathX
from longarena.tasks.retrieval import Retrieval
from longarena.tasks.text import Text

TASKS: dict[str, type[Task]] = {
    "listops": ListOps,
    "text": Text,
    "retrieval": Retrieval,
    "image": Image,
    "pathfinder": Pathfinder,
    "path-x": PathX,
    "pathfinder-64": Pathfinder64,
    "pathfinder-256": Pathfinder256,
}


def build(name: str, options: Mapping[str, object], size: float = 1.0, variant: str = "") -> Task:
    """Build a task by name, on its own data or on the set that `variant` names.

    An unknown name or option is refused with the nearest ones.
    """
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    kind = TASKS[name]
    return kind(parse(kind.options_type, options, name), size, variant)
