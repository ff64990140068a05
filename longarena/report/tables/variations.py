"""What a change does: a table per task and preset, a row per mechanism and setting.

A setting is what a run changes in its preset: options of the mechanism, the data, the training. The
table is for studies, which vary one thing at a time; leaderboards have only what can be compared.

Choice: steps and how often they are validated are no setting, because a study that gives all runs
        equal time counts them differently; they have a column.
"""

import re
from collections.abc import Sequence
from statistics import fmean

from longarena.findings.changes import setting
from longarena.findings.scores import Column as ScoreColumn
from longarena.findings.scores import Row as Mechanism
from longarena.findings.scores import Score, group, row_order
from longarena.records.summary import any_seed
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.table.table import DASH, MISSING, Cell, Column, Row, Table, distinct, slug

COUNTED = ("steps", "evaluate_every", "log_every", "checkpoint_every", "schedule.warmup_steps")
# those of the run that an extended one began with
BEFORE = tuple(f"extension.{key}" for key in (*COUNTED, "optimiser.rate", "optimiser.slow_rate"))
SECONDS, MILLISECONDS = 60, 1000

# a mechanism, and what is changed in its options, its data and its training
Line = tuple[Mechanism, str]
Scored = tuple[Line, ScoreColumn, Score]


def variation_tables(found: Findings) -> list[Table]:
    """Tabulate every task and preset in which a mechanism stands with several settings."""
    # runs with tuned values may stand in two columns
    once = {
        (at[1].variant, *(run.id for run in score.runs)): (*at, score)
        for at, score in found.scores.scores.items()
    }
    scored = [(_line(*each), *each[1:]) for each in once.values()]
    tables = group(scored, lambda each: (each[1].task, each[1].preset))
    return distinct(_table(found, several) for several in tables.values() if _has_settings(several))


def _has_settings(scored: Sequence[Scored]) -> bool:
    lines = {line for line, _, _ in scored}
    return len(lines) > len({row.mixer for row, _ in lines})


def _line(row: Mechanism, column: ScoreColumn, score: Score) -> Line:
    recipe = any_seed(score.runs[0])
    options, others = setting(recipe, (*COUNTED, *BEFORE))
    data = formatting.other_data(column, recipe.task.options)
    return row, ", ".join(filter(None, [options, *data, others]))


def _table(found: Findings, scored: Sequence[Scored]) -> Table:
    column, metric = scored[0][1], scored[0][1].metric
    levels = {metric.write_with_unit(score.level) for _, _, score in scored}
    return Table(
        name=f"variations-{slug(column.preset)}-{slug(column.task)}",
        title=f"{formatting.task_word(column.task)}, preset {column.preset}: what changes do",
        columns=(
            Column("Mechanism", "name"),
            Column("Setting", "text"),
            Column("Test", unit=metric.unit, better=metric.better),
            Column("Error"),
            Column("Seeds"),
            Column("Steps"),
            Column("Minutes", better="less"),
            Column("ms per example", better="less"),
        ),
        rows=tuple(_row(found, *each) for each in sorted(scored, key=_order)),
        note=f"Test {metric.name}, mean over seeds, and its standard error over test examples and "
        f"seeds. Without a model: {' or '.join(sorted(levels))}. Minutes: of training steps, with "
        "those of a run before it. A dash: the setting of the preset.",
    )


def _order(scored: Scored) -> tuple[int, str, list[tuple[int, str]]]:
    """Order by mechanism, then by setting, in which numbers go by their size."""
    (row, words), *_ = scored
    parts = re.findall(r"\d+|\D+", words)
    natural = [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
    return (*row_order(row)[:2], natural)


def _row(found: Findings, line: Line, column: ScoreColumn, score: Score) -> Row:
    row, words = line
    metric, metrics = column.metric, [run.metrics for run in score.runs]
    steps = sorted({each.steps for each in metrics})
    minutes = fmean(run.total_seconds for run in score.runs) / SECONDS
    per_second = fmean(each.steps_per_second for each in metrics)
    batch = any_seed(score.runs[0]).batch_size
    cells = (
        Cell(row.card.title, link=found.href(score.runs[0])),
        Cell(words or DASH),
        _test(score),
        Cell(metric.write(score.error), metric.scaled(score.error)),
        Cell(str(len(score.runs)), len(score.runs)),
        Cell(formatting.range_name(steps), steps[-1]),
        Cell(formatting.digits(minutes), minutes),
        _milliseconds(per_second * batch),
    )
    return Row(cells, {"family": row.card.family, "preset": column.preset, "task": column.task})


def _test(score: Score) -> Cell:
    if score.mean is None:
        return Cell("diverged", tone="failed")
    chance = "" if score.is_above_level else "chance"
    return Cell(score.metric.write(score.mean), score.metric.scaled(score.mean), note=chance)


def _milliseconds(examples_per_second: float) -> Cell:
    if not examples_per_second:
        return MISSING
    each = MILLISECONDS / examples_per_second
    return Cell(formatting.digits(each), each)
