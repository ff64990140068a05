"""The families of the survey as a table: complexity, and where each mechanism stands here."""

from collections.abc import Callable

from longarena.report import names
from longarena.report.table import MISSING, Cell, Table, mark_columns
from longarena.store.families import FamilyTable, Member, Standing, family_table
from longarena.store.folder import Records

COLUMNS = ("Family", "Mechanism", "Year", "Time", "Memory", "Decodes", "Speed", "Peak", "Score")


def family_tables(records: Records) -> list[Table]:
    """Tabulate every mechanism; one that was never measured or trained has no standing."""
    found = family_table(records)
    rows = [_row(member) for member in found.members]
    marked = mark_columns(mark_columns(rows, (6, 8)), (7,), min)
    title = "Mechanisms by family, and where they stand here"
    return [Table("families", title, COLUMNS, marked, note=_note(found))]


def _row(member: Member) -> tuple[Cell, ...]:
    card = member.card
    return (
        *(Cell(card.family), Cell(card.title), Cell(str(card.year) if card.year else "")),
        *(Cell(f"O({card.time})"), Cell(f"O({card.memory})")),
        Cell("yes" if card.decodes else "no"),
        _standing(member.speed, names.ratio),
        _standing(member.memory, names.ratio),
        _standing(member.score, names.percent, unit=0.01),
    )


def _standing(standing: Standing | None, write: Callable[[float], str], unit: float = 1.0) -> Cell:
    if standing is None:
        return MISSING
    return Cell(write(standing.value), standing.value / unit, note=f"{standing.place}.")


def _note(found: FamilyTable) -> str:
    parts = ["In brackets: the place among all."]
    if found.length:
        length = names.length_name(found.length)
        parts.append(f"Speed and peak memory at {length}, relative to the Transformer.")
    if found.preset:
        tasks = names.many(found.num_tasks, "task")
        parts.append(f"Score: mean accuracy over {tasks}, preset {found.preset}.")
    return " ".join(parts)
