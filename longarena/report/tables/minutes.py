"""Scores after minutes of training: a table per board, task and machine, a row per mechanism.

A cell is the best validation score so far, the mean over seeds with their standard deviation; a
dash stands before the first validation.

Choice: as on the boards, a result is the best of its column only if it is comparable and better
        than an answer without a model by three standard errors.
"""

from longarena.findings.minutes import MINUTES, Race, Racer, after, races
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.report.tables.scores import column_title
from longarena.table.table import MISSING, Cell, Column, Row, Table, distinct, slug

SECONDS = 60


def minute_tables(found: Findings) -> list[Table]:
    """Tabulate what was reached after minutes, by board and task; as far as charts show it."""
    return distinct(minute_table(race) for race in races(found.charted.boards))


def minute_table(race: Race) -> Table:
    """Tabulate what was reached after minutes in one race."""
    board, column, metric = race.board, race.column, race.column.metric
    level = board.level(column)
    floor = Cell(metric.write(level), metric.scaled(level))
    return Table(
        name=f"minutes-{board.suite.name}-{slug(board.preset)}-{slug(column.task)}",
        title=f"{column_title(board, column)}: validation {formatting.metric_name(metric)} "
        "after minutes of training",
        columns=(MECHANISM, *(_column(race, minutes) for minutes in MINUTES)),
        rows=tuple(_row(race, racer) for racer in race.racers),
        footers=(Row((Cell("Without a model"), *[floor] * len(MINUTES))),),
        note=f"The best so far, mean and standard deviation over seeds. Minutes of "
        f"training steps, without evaluation, on {race.clock}. Ended: training was over by then.",
    )


def _column(race: Race, minutes: int) -> Column:
    column = race.column
    return Column(f"{minutes} min", better=column.metric.better, filters={"task": column.task})


def _row(race: Race, racer: Racer) -> Row:
    line = racer.line
    cells = [_cell(race, racer, SECONDS * minutes) for minutes in MINUTES]
    family = line.row.card.family
    return Row((mechanism(line.row, line.changes, has_family=False), *cells), {"family": family})


def _cell(race: Race, racer: Racer, seconds: float) -> Cell:
    reached, metric = after(racer.score, seconds), race.column.metric
    score = reached.score
    if score.mean is None:
        return MISSING
    num_seeds, has_ended = len(score.values), reached.num_ended == len(score.values)
    notes = [f"{num_seeds} of {len(score.runs)} seeds"] if score.num_without else []
    notes += ["ended" if has_ended else f"{reached.num_ended} ended"] if reached.num_ended else []
    is_best = racer.is_comparable and score.mean == race.best(seconds)
    return Cell(
        metric.write(score.mean),
        metric.scaled(score.mean),
        None if score.spread is None else metric.scaled(score.spread),
        note=", ".join(notes),
        is_best=is_best and score.is_above_level,
        tone="partial" if has_ended else "",
    )
