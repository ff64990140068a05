"""Tasks from outside, named `module:Class`: what a preset may know about them.

Records name such tasks too, and showing a record must not import anything that it names. So presets
make their recipes without importing the task; `preset` fills in the version.
"""

from longarena import tasks


def is_outside(task: str) -> bool:
    """Tell whether a task is a user's own."""
    return ":" in task


def version_of(task: str) -> int:
    """Return the version of a built-in task, and 1 for one from outside."""
    return 1 if is_outside(task) else tasks.build(task, {}).card.version
