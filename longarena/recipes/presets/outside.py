"""Tasks from outside, named `module:Class` or by a file: what a preset may know about them.

Records name such tasks too, and showing a record must not import or read anything that it names. So
presets make their recipes by the name alone; `preset` fills in the version, and what a file holds.
"""

from longarena import tasks
from longarena.tasks.textfile import is_file_name


def is_outside(task: str) -> bool:
    """Tell whether a task is a user's own."""
    return ":" in task or is_file_name(task)


def version_of(task: str) -> int:
    """Return the version of a built-in task, and 1 for one from outside."""
    return 1 if is_outside(task) else tasks.build(task, {}).card.version
