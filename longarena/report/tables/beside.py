"""Our results on official data beside the published ones, by task and by length.

They are the comparable ones, or under `own` those of the recipes themselves: nobody is compared
there but with what was published for the same mechanism. A published number is marked as beaten if
ours is better by three standard errors, and as matched if it is not worse by as many. The last line
compares the best of every column, whoever it is.

Theirs come from other code, and presets that train less have no counterpart; docs/corrections.md
lists what else differs. Costs are ratios to the Transformer of the same table, since the hardware
differs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from longarena.findings import published
from longarena.findings.boards import Board, Line
from longarena.findings.costs import CostTable, StepCost
from longarena.findings.published import PublishedRatio, PublishedTable
from longarena.findings.scores import BASELINE, Score
from longarena.findings.scores import Column as ScoreColumn
from longarena.findings.scores import Row as Mechanism
from longarena.records.record import is_significant
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.report.tables.published import printed
from longarena.report.tables.ratios import ratio_cell
from longarena.report.tables.scores import board_title, scores_name
from longarena.table.table import MISSING, Cell, Column, Row, Table, distinct, slug
from longarena.tracks.metric import ACCURACY

HERE = ("here",)
NOT_TIMED = Cell("not timed")
BEST = Cell("Best of the column")
MARKS = (
    "Beaten: ours is better by three standard errors, over test examples and seeds. "
    "Matched: it is not worse by as many."
)


def beside_tables(found: Findings) -> list[Table]:
    """Tabulate scores, then speed and memory, of what the papers have numbers for."""
    session = beside_session(found)
    costs = beside_costs(session) if session else []
    return [*beside_scores(found), *costs]


def beside_scores(found: Findings) -> list[Table]:
    """Tabulate the scores of every board under a preset that trains a published model in full."""
    return distinct(
        _scores(board, lines, columns)
        for board in found.boards
        if board.preset in published.PRESETS and not board.changes
        if (columns := _official(board)) and (lines := _known(board, columns))
    )


def beside_session(found: Findings) -> CostTable | None:
    """Return the latest session that has the Transformer at a length of the paper."""
    base = Mechanism(BASELINE)
    return next(
        (t for t in found.costs if any((base, n) in t.costs for n in published.COST_LENGTHS)), None
    )


def beside_costs(session: CostTable) -> list[Table]:
    """Tabulate speed and memory relative to the Transformer, at the lengths of the paper."""
    speed = _cost_rows(session, lambda cost: cost.speed_ratio, lambda paper: paper.speed)
    memory = _cost_rows(session, lambda cost: cost.memory_ratio, lambda paper: paper.memory)
    return [
        _costs("speed", "Training speed, relative to the Transformer", speed),
        _costs("memory", "Peak memory, relative to the Transformer", memory),
    ]


def _official(board: Board) -> list[ScoreColumn]:
    """Return the columns of official data whose accuracies the papers report."""
    return [
        column
        for column in board.columns
        if column.task in published.TASKS and not column.variant and column.metric == ACCURACY
    ]


def _known(board: Board, columns: Sequence[ScoreColumn]) -> list[Line]:
    """Return the lines of the preset itself that have a score where a paper has one."""
    lines = board.comparable if board.has_common_recipe else board.free
    return [
        line
        for line in lines
        if not line.row.options
        and not line.changes
        and any(
            published.accuracy(paper, line.row.mixer, column.task) is not None
            for paper in _papers(board)
            for column in columns
            if column in line.scores
        )
    ]


def _papers(board: Board) -> list[PublishedTable]:
    """Return the tables that a preset can stand beside: the re-run's models are the small ones."""
    if not board.has_common_recipe:
        return [published.PAPER, published.LATER]
    re_run = [published.NYSTROMFORMER] if board.preset == "small" else []
    return [published.PAPER, *re_run]


def _scores(board: Board, lines: Sequence[Line], columns: Sequence[ScoreColumn]) -> Table:
    papers = _papers(board)
    headings = chain(*(_headings(column, papers) for column in columns))
    rows = [
        Row((_named(line.row), *chain(*(_beside(line, column, papers) for column in columns))))
        for line in lines
    ]
    return Table(
        name=f"beside-{board.suite.name}-{slug(board.preset)}",
        title=f"{board_title(board)}: test {scores_name(board)}, beside the papers",
        columns=(MECHANISM, *headings),
        rows=tuple(rows),
        footers=(Row((BEST, *chain(*(_best(lines, column, papers) for column in columns)))),),
        note=" ".join([*map(_source, papers), MARKS]),
    )


def _source(paper: PublishedTable) -> str:
    recalled = ", quoted from memory" if paper.recalled else ""
    return f"{paper.short.capitalize()}: {paper.source}{recalled}."


def _headings(column: ScoreColumn, papers: Sequence[PublishedTable]) -> list[Column]:
    task = formatting.task_word(column.task)
    theirs = [Column(task, details=(paper.short,), role="theirs") for paper in papers]
    return [Column(task, details=HERE, role="first"), *theirs]


def _beside(line: Line, column: ScoreColumn, papers: Sequence[PublishedTable]) -> list[Cell]:
    score = line.scores.get(column)
    theirs = [published.accuracy(paper, line.row.mixer, column.task) for paper in papers]
    return [ours(score), *(compared(each, score) for each in theirs)]


def _best(
    lines: Sequence[Line], column: ScoreColumn, papers: Sequence[PublishedTable]
) -> list[Cell]:
    scores = [score for line in lines if (score := line.scores.get(column)) and score.values]
    best = max(scores, key=lambda score: score.mean or 0.0, default=None)
    theirs = [published.best_accuracy(paper, column.task) for paper in papers]
    return [ours(best), *(compared(each, best) for each in theirs)]


def ours(score: Score | None) -> Cell:
    """Show a score of ours."""
    if score is None or score.mean is None:
        return MISSING
    return Cell(score.metric.write(score.mean), score.metric.scaled(score.mean))


def compared(theirs: published.Accuracy, score: Score | None) -> Cell:
    """Show a published number, and say whether it is matched or beaten here."""
    cell = printed(theirs)
    if cell.value is None or score is None or score.mean is None:
        return cell
    metric, level = score.metric, cell.value / score.metric.scale
    if is_significant(metric, score.mean, level, score.error):
        return replace(cell, note="beaten")
    is_worse = is_significant(metric, level, score.mean, score.error)
    return cell if is_worse else replace(cell, note="matched")


def _named(row: Mechanism) -> Cell:
    return mechanism(row, has_family=False)


def _cost_rows(
    session: CostTable,
    ours: Callable[[StepCost], float | None],
    theirs: Callable[[PublishedRatio], float],
) -> list[Row]:
    def cells(row: Mechanism, length: int) -> tuple[Cell, Cell]:
        cost, paper = session.costs.get((row, length)), published.cost_ratio(row.mixer, length)
        here = ratio_cell(ours(cost) if cost else None)
        return here, ratio_cell(theirs(paper)) if paper else NOT_TIMED

    rows = [row for row in session.rows if row.mixer in published.SYSTEMS and not row.options]
    return [
        Row((_named(row), *chain(*(cells(row, length) for length in published.COST_LENGTHS))))
        for row in rows
    ]


def _costs(name: str, title: str, rows: Sequence[Row]) -> Table:
    columns = [
        column
        for length in map(formatting.length_name, published.COST_LENGTHS)
        for column in (
            Column(length, details=HERE, role="first"),
            Column(length, details=("paper",), role="theirs"),
        )
    ]
    note = f"Paper: {published.COST_SOURCE}."
    return Table(f"beside-{name}", title, (MECHANISM, *columns), tuple(rows), note=note)
