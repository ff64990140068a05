"""How many seeds learn, and when: a table per board and task, a row per mechanism.

A step is the median over the seeds that got there, with the first and the last in the note.
"""

from collections.abc import Sequence
from statistics import median

from longarena.findings.boards import Line
from longarena.findings.seeds import Fate, Lottery, lotteries
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.report.tables.scores import column_title
from longarena.table.table import MISSING, Cell, Column, Row, Table, distinct, slug

COLUMNS = (
    MECHANISM,
    Column("Seeds"),
    Column("Above chance", better="more"),
    Column("At step", better="less", short="above at"),
    Column("Learnt", better="more"),
    Column("At step", better="less", short="learnt at"),
)


def seed_tables(found: Findings) -> list[Table]:
    """Tabulate what became of seeds, by board and task; as far as charts show it."""
    return distinct(seed_table(lottery) for lottery in lotteries(found.charted.boards))


def seed_table(lottery: Lottery) -> Table:
    """Tabulate what became of the seeds of one column."""
    board, column, metric = lottery.board, lottery.column, lottery.column.metric
    return Table(
        name=f"seeds-{board.suite.name}-{slug(board.preset)}-{slug(column.task)}",
        title=f"{column_title(board, column)}: how many seeds learn",
        columns=COLUMNS,
        rows=tuple(_row(line, fates) for line, fates in lottery.fates),
        note=f"Above chance: validation {metric.name} better than without a "
        f"model ({metric.write_with_unit(board.level(column))}) by three standard errors, to the "
        f"end. Learnt: {metric.write_with_unit(lottery.goal)} or better, two thirds of the way to "
        "the best of the table of scores. Steps: the median of the seeds that got there, with the "
        "first and the last.",
    )


def _row(line: Line, fates: Sequence[Fate]) -> Row:
    left, learnt = [fate.left_at for fate in fates], [fate.learnt_at for fate in fates]
    cells = [cell for steps in (left, learnt) for cell in (_share(steps), _median(steps))]
    name = mechanism(line.row, line.changes, has_family=False)
    family = {"family": line.row.card.family}
    return Row((name, Cell(str(len(fates)), len(fates)), *cells), family)


def _share(steps: Sequence[int | None]) -> Cell:
    count = sum(step is not None for step in steps)
    return Cell(f"{count} of {len(steps)}", count / len(steps))


def _median(steps: Sequence[int | None]) -> Cell:
    known = [step for step in steps if step is not None]
    if not known:
        return MISSING
    between = f"{min(known):,} to {max(known):,}" if min(known) < max(known) else ""
    return Cell(f"{median(known):,.0f}", median(known), note=between)
