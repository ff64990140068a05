"""The card of a user's own data or of a task's texts, for people and for programs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longarena.tasks.base import Task
    from longarena.tasks.token_card import TokenCard


def card_lines(task: "Task") -> list[str]:
    """Write the card of a user's own data, or of texts as tokens; nothing for another task."""
    from longarena.tasks.own.base import OwnData

    if card := _token_card(task):
        return [f"{key}: {fact}" for key, fact in card.facts().items()]
    if not isinstance(task, OwnData):
        return []
    found = task.found
    read = f"up to {task.signature.max_length:,} {found.unit} of each example"
    facts = {"data": f"{task.name} ({task.data})"} | found.facts() | {"read": read}
    return [*(f"{key}: {fact}" for key, fact in facts.items()), *warning_lines(task)]


def card_values(task: "Task") -> dict[str, object]:
    """Return the card of a user's own data, or of texts as tokens; nothing for another task."""
    from longarena.tasks.own.base import OwnData

    if card := _token_card(task):
        return card.model_dump(mode="json")
    if not isinstance(task, OwnData):
        return {}
    about = {"name": task.name, "data": task.data, "max_length": task.signature.max_length}
    found = task.found
    return about | found.model_dump(mode="json") | {"warnings": found.warnings()}


def _token_card(task: "Task") -> "TokenCard | None":
    from longarena.tasks.base import default_home
    from longarena.tasks.prepare import open_prepared
    from longarena.tasks.token_card import token_card
    from longarena.tasks.tokens import TokenTask

    if not isinstance(task, TokenTask):
        return None
    return token_card(task, open_prepared(task, default_home(), verify=False))


def warning_lines(task: "Task") -> list[str]:
    """Say what may make scores on a user's own data worthless."""
    from longarena.tasks.own.base import OwnData

    found = task.found.warnings() if isinstance(task, OwnData) else []
    return [f"warning: {line}" for line in found]
