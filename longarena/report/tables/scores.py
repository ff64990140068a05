"""The leaderboards as tables: a pair per board, comparable results apart from free ones.

The best by the first average comes first, where there is none the best of the only column. A cell
is the mean over seeds with its standard deviation, in the unit of its metric. The last rows
are the paper's (mean and deviation over mechanisms), what an answer without a model scores, and
what others reach, such as compressors.
Columns of the preset's own data come first, then the averages over them, then variants.

Choice: a result is the best of its column only if it is better than an answer without a model.
Choice: what cannot be told from the best of its column is tied with it (`findings/ties.py`).
Choice: the best average is the best of those over the most tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from longarena.findings.boards import (
    Average,
    Board,
    Line,
    Spread,
    best_average,
    has_own_data,
    spread_of_averages,
)
from longarena.findings.contests import Contest, average_contest
from longarena.findings.differences import Difference
from longarena.findings.scores import Column as ScoreColumn
from longarena.findings.scores import Row as Mechanism
from longarena.findings.scores import Score
from longarena.findings.ties import behind
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import EMPTY, MISSING, Cell, Column, Row, Table, Tone, Words, slug
from longarena.tracks.metric import Metric

COLLAPSED, CHANCE, TIED_NOTE = "collapsed", "chance", "tied"
TIED_WORDS = "tied with the best"
TIED = "not told apart from the best by the answers to the same test examples (95 %, all pairs)"
ABOVE_LEVEL = "better than an answer without a model by three standard errors"
# more than any average differs from another, so that those of more tasks come first
TASK_STEP = 1e6


@dataclass(frozen=True)
class BoardTables:
    """A board with its tables; one without results has no table."""

    board: Board
    comparable: Table | None
    free: Table | None


def score_tables(found: Findings) -> list[Table]:
    """Tabulate test scores with their spread over seeds, the comparable ones first."""
    pairs = board_tables(found)
    tables = [*(pair.comparable for pair in pairs), *(pair.free for pair in pairs)]
    return [table for table in tables if table]


def board_tables(found: Findings) -> list[BoardTables]:
    """Tabulate every board; boards that share suite and preset are numbered."""
    counts: dict[str, int] = {}
    pairs = []
    for board in found.boards:
        name = f"scores-{board.suite.name}-{slug(board.preset)}"
        name += "-changed" if board.changes else ""
        name += "-tuned" if board.tuning.words else ""
        counts[name] = counts.get(name, 0) + 1
        name += f"-{counts[name]}" if counts[name] > 1 else ""
        pairs.append(
            BoardTables(
                board,
                _comparable(found, board, name) if board.comparable else None,
                _free(found, board, f"{name}-free") if board.free else None,
            )
        )
    return pairs


@dataclass(frozen=True)
class _Layout:
    """What the columns show: own data, which averages, variants of the data; and their best.

    Free results differ in their recipes, so among them none is the best.
    """

    board: Board
    own: list[ScoreColumn]
    averages: list[int]
    variants: list[ScoreColumn]
    best: Mapping[ScoreColumn, float | None]
    best_averages: Mapping[int, Average | None]
    behind: Mapping[ScoreColumn, Mapping[Mechanism, Difference]]
    compared: Contest | None

    @classmethod
    def of(
        cls, found: Findings, board: Board, lines: Sequence[Line], *, has_best: bool
    ) -> "_Layout":
        columns, averages = board.columns_of(lines), _averages(board)
        averaged = {column for which in averages for column in board.averaged(which)}
        own = [column for column in columns if has_own_data(column) or column in averaged]
        return cls(
            board,
            own,
            averages,
            variants=[column for column in columns if column not in own],
            best={column: board.best(column) for column in columns} if has_best else {},
            best_averages={at: _best_average(board, at) for at in averages} if has_best else {},
            behind={at: _behind(found, board, at) for at in columns} if has_best else {},
            compared=average_contest(board, found.pairs) if has_best else None,
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        return (
            MECHANISM,
            *(_column(at, self.board) for at in self.own),
            *(_average_column(self.board, which) for which in self.averages),
            *(_column(at, self.board) for at in self.variants),
        )


def _comparable(found: Findings, board: Board, name: str) -> Table:
    layout = _Layout.of(found, board, board.comparable, has_best=True)
    table = _table(found, layout, board.comparable, name)
    return replace(table, footers=(_mean_row(layout), *table.footers))


def _free(found: Findings, board: Board, name: str) -> Table:
    layout = _Layout.of(found, board, board.free, has_best=False)
    table = _table(found, layout, board.free, name)
    return replace(table, title=f"{table.title}, free results")


def _table(found: Findings, layout: _Layout, lines: Sequence[Line], name: str) -> Table:
    board = layout.board
    return Table(
        name=name,
        title=f"{board_title(board)}: test {scores_name(board)}",
        columns=layout.columns,
        rows=tuple(_row(found, layout, line) for line in _ranked(board, lines)),
        footers=(_level_row(layout), *_other_level_rows(layout)),
        note=f"Mean and standard deviation over seeds.{_tuning_note(board)} "
        "Chance: not better than an answer without a model by three standard errors. "
        f"{_ties_note(layout)}{_sizes_note(board)}",
    )


def _ranked(board: Board, lines: Sequence[Line]) -> list[Line]:
    """Put the best first, those with more tasks before all others; equal ones keep their order."""

    def key(line: Line) -> tuple[int, float]:
        metric = board.average_metric(0)
        if metric and (average := line.averages[0]):
            return -average.num_tasks, -_sign(metric) * average.mean
        if metric or len(board.columns) > 1:
            return 0, 0.0
        (column,) = board.columns
        mean = line.scores[column].mean
        return (1, 0.0) if mean is None else (0, -_sign(column.metric) * mean)

    return sorted(lines, key=key)


def _sign(metric: Metric) -> int:
    return 1 if metric.better == "more" else -1


def _behind(found: Findings, board: Board, column: ScoreColumn) -> dict[Mechanism, Difference]:
    """Say by how much the best of a column is better than the other comparable mechanisms.

    Of very many results, only those under presets as they are get compared: each column takes a
    part of a second.
    """
    if found.is_large and board.changes:
        return {}
    return behind(board.scores(column), lambda: found.pairs(board, column))


def _ties_note(layout: _Layout) -> str:
    compared = [each for found in layout.behind.values() for each in found.values()]
    return f"Tied: {TIED}. " if any(each.is_tie for each in compared) else ""


def _behind_words(difference: Difference, metric: Metric) -> Words:
    """Write how far a result is behind the best, and between which bounds that may be."""
    apart, low, high = map(metric.write, (difference.value, difference.low, difference.high))
    if difference.is_tie:
        return Words(f"{TIED_WORDS} ({low} to {high})", tone="tied")
    return Words(f"{apart} behind the best ({low} to {high})")


def _tuning_note(board: Board) -> str:
    words = board.tuning.words
    return f" Every mechanism has the best on validation: {words}." if words else ""


def _sizes_note(board: Board) -> str:
    """Say what a reader must know of the sizes of the models."""
    if not board.has_common_recipe:
        return "Each mechanism under the recipe of its own authors: sizes and steps differ."
    baseline = formatting.card(board.suite.baseline).title
    budget = board.suite.parameter_budget
    return f"A factor: its parameters, relative to the {baseline}, exceed {budget:.2f}."


def board_title(board: Board) -> str:
    """Name a board."""
    changed = f" with {board.changes}" if board.changes else ""
    tuned = ", tuned" if board.tuning.words else ""
    return f"{board.suite.title}, preset {board.preset}{changed}{tuned}"


def column_title(board: Board, column: ScoreColumn) -> str:
    """Name one column of a board, for a table of it alone."""
    data = formatting.data_parts(column, board.columns)
    return ", ".join([board_title(board), formatting.task_word(column.task), *data])


def scores_name(board: Board) -> str:
    """Name what the numbers of a board are."""
    return formatting.scores_name(column.metric for column in board.columns)


def _averages(board: Board) -> list[int]:
    """Choose the first average, and the others that this board has more tasks for."""
    tasks = {column.task for column in board.columns}
    averages = board.suite.averages
    return [
        which
        for which, average in enumerate(averages)
        if which == 0 or tasks & (set(average.tasks) - set(averages[0].tasks))
    ]


def _column(column: ScoreColumn, board: Board) -> Column:
    is_mixed = len({other.metric for other in board.columns}) > 1
    metric = [formatting.metric_name(column.metric)] if is_mixed else []
    stated = [*board.conditions(column), *metric]
    title = formatting.task_word(column.task)
    return Column(
        title,
        details=(*formatting.data_parts(column, board.columns), *stated),
        short=", ".join([title, *short_parts(column, board.columns), *stated]),
        better=column.metric.better,
        filters={"task": column.task},
    )


def short_parts(column: ScoreColumn, among: Sequence[ScoreColumn]) -> list[str]:
    """Say how the data differs from the preset's, or all about it where a task has two columns."""
    if sum(other.task == column.task for other in among) > 1:
        return formatting.data_parts(column, among)
    return formatting.other_data(column)


def _average_column(board: Board, which: int) -> Column:
    metric = board.average_metric(which)
    better = metric.better if metric else None
    return Column(board.suite.averages[which].title, better=better, role="average")


def _row(found: Findings, layout: _Layout, line: Line) -> Row:
    def scores(columns: Sequence[ScoreColumn]) -> list[Cell]:
        return [_score(found, layout, line, column) for column in columns]

    averages = [_average(layout, line, which) for which in layout.averages]
    named = mechanism(line.row, line.changes)
    return Row(
        (named, *scores(layout.own), *averages, *scores(layout.variants)),
        {"family": line.row.card.family},
    )


def _score(found: Findings, layout: _Layout, line: Line, column: ScoreColumn) -> Cell:
    score, metric = line.scores.get(column), column.metric
    if score is None:
        return MISSING
    budget = layout.board.suite.parameter_budget
    apart = layout.behind.get(column, {}).get(line.row)
    details = _details(found, score, budget)
    if apart is not None:
        details = (*details, (_behind_words(apart, metric),))
    if score.mean is None:
        return Cell("diverged", tone="failed", details=details)
    return Cell(
        metric.write(score.mean),
        metric.scaled(score.mean),
        None if score.spread is None else metric.scaled(score.spread),
        note=", ".join([*_tied(apart), *_notes(score, budget)]),
        is_best=score.is_above_level and score.mean == layout.best.get(column),
        details=details,
        mark=ABOVE_LEVEL if score.is_above_level else "",
    )


def _tied(apart: Difference | None) -> list[str]:
    return [TIED_NOTE] if apart is not None and apart.is_tie else []


def _notes(score: Score, budget: float) -> list[str]:
    notes = [COLLAPSED] if score.num_collapsed == len(score.values) else []
    notes += [] if notes or score.is_above_level else [CHANCE]
    if score.parameter_ratio is not None and score.is_over_budget(budget):
        notes.append(formatting.ratio(score.parameter_ratio))
    return notes


def _details(found: Findings, score: Score, budget: float) -> tuple[tuple[Words, ...], ...]:
    """Lead to the runs behind a number, and tell what became of them."""
    seeds = formatting.many(len(score.runs), "seed")
    first = [Words(seeds, link=found.href(score.runs[0]))]
    if score.parameter_ratio is not None:
        tone: Tone = "over" if score.is_over_budget(budget) else ""
        first.append(Words(formatting.ratio(score.parameter_ratio), tone=tone))
    lines = [tuple(first)]
    if score.tuned:
        lines.append((Words(score.tuned, tone="changes"),))
    if score.num_collapsed:
        lines.append((Words(f"{score.num_collapsed} collapsed", tone="failed"),))
    if score.num_without and score.mean is not None:
        lines.append((Words(f"{score.num_without} diverged", tone="failed"),))
    return tuple(lines)


def _average(layout: _Layout, line: Line, which: int) -> Cell:
    average, metric = line.averages[which], layout.board.average_metric(which)
    if average is None or metric is None:
        return MISSING
    is_partial, value = average.is_partial, metric.scaled(average.mean)
    step = _sign(metric) * TASK_STEP
    notes = [f"{average.num_tasks} of {average.num_wanted} tasks"] if is_partial else []
    is_tied = _is_average_tied(layout, line, which)
    tied = [Words(TIED_WORDS, tone="tied")] if is_tied else []
    return Cell(
        metric.write(average.mean),
        None if is_partial else value,  # over other tasks, so not to be compared by programs
        note=", ".join([*notes, *([TIED_NOTE] if is_tied else [])]),
        details=tuple((words,) for words in (*map(Words, notes), *tied)),
        is_best=average == layout.best_averages.get(which),
        tone="partial" if is_partial else "",
        order=average.num_tasks * step + value,
    )


def _is_average_tied(layout: _Layout, line: Line, which: int) -> bool:
    """Tell whether a line's first average is tied with the best over the same tasks."""
    average, compared = line.averages[which], layout.compared
    best = layout.best_averages.get(which)
    if which > 0 or average is None or best is None or compared is None:
        return False
    is_same = average.num_tasks == best.num_tasks == len(compared.columns)
    first = next(each.row for each in layout.board.comparable if each.averages[which] == best)
    return is_same and line.row in compared.tied_with(first)


def _best_average(board: Board, which: int) -> Average | None:
    metric = board.average_metric(which)
    return best_average(board.averages(which), metric.better) if metric else None


def _mean_row(layout: _Layout) -> Row:
    """Write the paper's last row: mean and deviation over mechanisms."""
    board = layout.board

    def means(columns: Sequence[ScoreColumn]) -> list[Cell]:
        return [_mean(board.spread(column), column.metric) for column in columns]

    averages = [
        _mean(spread_of_averages(board.averages(which)), board.average_metric(which))
        for which in layout.averages
    ]
    named = Cell("Mean over mechanisms")
    return Row((named, *means(layout.own), *averages, *means(layout.variants)))


def _mean(spread: Spread | None, metric: Metric | None) -> Cell:
    if spread is None or metric is None:
        return MISSING
    deviation = None if spread.deviation is None else metric.scaled(spread.deviation)
    return Cell(metric.write(spread.mean), metric.scaled(spread.mean), deviation)


def _level_row(layout: _Layout) -> Row:
    def levels(columns: Sequence[ScoreColumn]) -> list[Cell]:
        return [_level(column.metric, layout.board.level(column)) for column in columns]

    averages = [EMPTY] * len(layout.averages)
    named = Cell("Without a model")
    return Row((named, *levels(layout.own), *averages, *levels(layout.variants)))


def _other_level_rows(layout: _Layout) -> list[Row]:
    """Write a row for each of the others that were scored on the same data."""
    columns = (*layout.own, *layout.variants)
    found = {column: layout.board.other_levels(column) for column in columns}
    names = dict.fromkeys(name for levels in found.values() for name in levels)
    averages = [EMPTY] * len(layout.averages)

    def cells(name: str, columns: Sequence[ScoreColumn]) -> list[Cell]:
        return [
            _level(column.metric, found[column][name]) if name in found[column] else EMPTY
            for column in columns
        ]

    return [
        Row((Cell(name), *cells(name, layout.own), *averages, *cells(name, layout.variants)))
        for name in names
    ]


def _level(metric: Metric, level: float) -> Cell:
    return Cell(metric.write(level), metric.scaled(level))
