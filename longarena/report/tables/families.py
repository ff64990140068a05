"""The families of the survey as a table: complexity, and where each mechanism stands here."""

from collections.abc import Callable

from longarena.findings.families import FamilyTable, Member, Standing
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.table.table import MISSING, Cell, Column, Row, Table, Words

HERE = ("here",)


def family_tables(found: Findings) -> list[Table]:
    """Tabulate every mechanism; one that was never measured or trained has no standing."""
    return [family_table(found.families)]


def family_table(found: FamilyTable) -> Table:
    """Tabulate the mechanisms in the order of their families."""
    return Table(
        name="families",
        title="Mechanisms by family, and where they stand here",
        columns=_columns(found),
        rows=tuple(_row(found, member) for member in found.members),
        note=_note(found),
    )


def _columns(found: FamilyTable) -> tuple[Column, ...]:
    metric = found.metric
    return (
        Column("Family", "text"),
        Column("Mechanism", "name"),
        Column("Mixer", "name", is_on_page=False),
        Column("Year", is_on_page=False),
        Column("Time", "formula"),
        Column("Memory", "formula", details=("as claimed",), short="Memory"),
        Column("Decodes", "text"),
        Column("Speed", details=HERE, short="Speed", better="more"),
        Column("Memory", details=HERE, short="Peak", better="less"),
        Column(
            *("Score", "number", metric.unit if metric else ""),
            details=HERE,
            short="Score",
            better=metric.better if metric else None,
        ),
    )


def _row(found: FamilyTable, member: Member) -> Row:
    card, metric = member.card, found.metric
    cells = (
        Cell(card.family),
        Cell(card.title, link=card.paper, details=(_details(member),)),
        Cell(member.mixer),
        Cell(str(card.year), card.year) if card.year else MISSING,
        *(Cell(f"O({card.time})"), Cell(f"O({card.memory})")),
        Cell("yes" if card.decodes else "no"),
        _standing(member.speed, formatting.ratio),
        _standing(member.memory, formatting.ratio),
        _standing(member.score, metric.write, metric.scale) if metric else MISSING,
    )
    return Row(cells, {"family": card.family})


def _details(member: Member) -> tuple[Words, ...]:
    year = (Words(str(member.card.year)),) if member.card.year else ()
    return Words(member.mixer), *year


def _standing(standing: Standing | None, write: Callable[[float], str], scale: float = 1.0) -> Cell:
    if standing is None:
        return MISSING
    return Cell(
        write(standing.value),
        scale * standing.value,
        note=f"{standing.place} of {standing.among}",
        is_best=standing.place == 1,
    )


def _note(found: FamilyTable) -> str:
    parts = ["Each with its place among all."]
    if found.length:
        length = formatting.length_name(found.length)
        parts.append(f"Speed and peak memory at {length}, relative to the Transformer.")
    if found.preset and found.metric:
        tasks, name = formatting.many(found.num_tasks, "task"), formatting.metric_name(found.metric)
        parts.append(f"Score: {name}, the mean over {tasks}, preset {found.preset}.")
    return " ".join(parts)
