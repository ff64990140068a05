"""Data of your own: the path of a file or folder, wherever a task is named (docs/own-data.md).

The kind of a task is told by its name alone, without looking for the data: records name the data
of other people.
"""

from functools import cache

from longarena.tasks.own.arrays import Arrays
from longarena.tasks.own.base import OwnData
from longarena.tasks.own.names import ending_of, is_folder_name
from longarena.tasks.own.recordings import Recordings
from longarena.tasks.own.rows import FORMATS
from longarena.tasks.own.table import Table
from longarena.tasks.own.texts import Texts
from longarena.tasks.textfile import TextFile

FILES: dict[str, type[OwnData]] = {
    **dict.fromkeys(FORMATS, Table),
    ".npz": Arrays,
    ".npy": Arrays,
}
FOLDERS: dict[str, type[OwnData]] = {
    **dict.fromkeys(FORMATS, Table),
    ".wav": Recordings,
    ".txt": Texts,
}


@cache
def task_by_path(name: str) -> type[OwnData] | type[TextFile]:
    """Return the task of the data with this name; a file of no other kind is a text."""
    kinds = FOLDERS if is_folder_name(name) else FILES
    kind = kinds.get(ending_of(name), TextFile)
    return type(kind.__name__, (kind,), {"name": name, "__module__": __name__})


def has_values(name: str) -> bool:
    """Tell whether the examples of data with this name are numbers, such as samples of sound."""
    kind = task_by_path(name)
    return issubclass(kind, OwnData) and kind.has_values


def is_stream(name: str) -> bool:
    """Tell whether data with this name is one long text."""
    return issubclass(task_by_path(name), TextFile)
