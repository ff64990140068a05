"""What is asked: one file per task, and the table of them.

A task of your own is named `module:Class` wherever a task is named (docs/add-a-task.md), data of
your own by its path (docs/own-data.md), and so are a text (docs/language.md) and two files of
parallel text (docs/data.md).
"""

from collections.abc import Mapping

from longarena.data.shuffle import Shuffle
from longarena.errors import UserError
from longarena.loading import load_class
from longarena.options import parse
from longarena.tasks.base import Task
from longarena.tasks.digits import Digits
from longarena.tasks.enwik8 import Enwik8
from longarena.tasks.image import Image
from longarena.tasks.induction import Induction
from longarena.tasks.iwslt14 import Iwslt14
from longarena.tasks.listops import ListOps
from longarena.tasks.multi30k import Multi30k
from longarena.tasks.own import task_by_path
from longarena.tasks.own.names import is_path_name
from longarena.tasks.passkey import Passkey
from longarena.tasks.pathfinder import Pathfinder, Pathfinder64, Pathfinder256, PathX
from longarena.tasks.recall import Recall
from longarena.tasks.retrieval import Retrieval
from longarena.tasks.selective_copy import SelectiveCopy
from longarena.tasks.text import Text
from longarena.tasks.twofiles import is_pair_name, pair_task
from longarena.tasks.wmt14 import Wmt14

TASKS: dict[str, type[Task]] = {
    "listops": ListOps,
    "text": Text,
    "retrieval": Retrieval,
    "image": Image,
    "pathfinder": Pathfinder,
    "path-x": PathX,
    "pathfinder-64": Pathfinder64,
    "pathfinder-256": Pathfinder256,
    "digits": Digits,
    "enwik8": Enwik8,
    "recall": Recall,
    "selective-copy": SelectiveCopy,
    "induction": Induction,
    "passkey": Passkey,
    "multi30k": Multi30k,
    "iwslt14": Iwslt14,
    "wmt14": Wmt14,
}


def find(name: str) -> type[Task]:
    """Find a task by its name in the table, or a user's own by `module:Class` or its data."""
    if name in TASKS:
        return TASKS[name]
    if is_pair_name(name):
        return pair_task(name)
    if is_path_name(name):
        return task_by_path(name)
    return load_class("task", name, Task, TASKS)  # type: ignore[type-abstract]


def build(
    name: str,
    options: Mapping[str, object],
    size: float = 1.0,
    data: str = "",
    shuffle: str = "",
) -> Task:
    """Build a task by name, on its own data or on the data that `data` names, perhaps shuffled.

    An unknown name or option is refused with the nearest ones.
    """
    kind = find(name)
    task = kind(parse(kind.options_type, options, name), size, data)
    if name not in TASKS and task.card.name in TASKS:
        raise UserError(f"{name} calls itself {task.card.name}, as a built-in task does; rename it")
    return _shuffled(task, shuffle) if shuffle else task


def _shuffled(task: Task, shuffle: str) -> Task:
    """Shuffle the tokens of a task; refuse one whose labels are not of whole examples."""
    name, signature = task.card.name, task.signature
    if signature.track != "classification":
        raise UserError(
            f"{name} is of the track {signature.track}, whose answers depend on places; "
            "leave out task.shuffle"
        )
    block = Shuffle.of(shuffle).block
    if block >= signature.max_length:
        raise UserError(
            f"a block of {block:,} tokens holds all of an example of {name}, which has up to "
            f"{signature.max_length:,}; choose a smaller one in task.shuffle"
        )
    return task.shuffled(shuffle)
