"""The suites as the page shows them, each in a tab: boards, curves, costs, minutes, seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

from longarena.findings.minutes import Race, races
from longarena.findings.seeds import Lottery, lotteries
from longarena.findings.suites import SUITES, YOURS, Suite
from longarena.report.charts import SUITE_CHARTS, draw_charts
from longarena.report.charts.chart import Chart
from longarena.report.findings import Findings
from longarena.report.tables.agreement import agreement_tables
from longarena.report.tables.minutes import minute_table
from longarena.report.tables.scores import BoardTables, board_tables
from longarena.report.tables.seeds import seed_table
from longarena.report.tables.translation import translation_tables
from longarena.table.table import Table, distinct


@dataclass(frozen=True)
class SuiteView:
    """What there is of one suite."""

    suite: Suite
    boards: Sequence[BoardTables]
    races: Sequence[tuple[Race, Table]]
    seeds: Sequence[tuple[Lottery, Table]]
    translations: Sequence[Table]
    agreements: Sequence[Table]


@dataclass(frozen=True)
class Untried:
    """A suite without any run, and the command that makes one."""

    title: str
    command: str


def suite_views(found: Findings, charted: Findings) -> list[SuiteView]:
    """Gather the suites that have results, in their order; what needs curves is of the charts."""
    every, drawn = races(charted.boards), lotteries(charted.boards)
    timed = list(zip(every, distinct(map(minute_table, every)), strict=True))
    counted = list(zip(drawn, distinct(map(seed_table, drawn)), strict=True))
    tabled = board_tables(found)
    return [
        SuiteView(
            suite,
            [each for each in tabled if each.board.suite is suite],
            [(race, table) for race, table in timed if race.board.suite is suite],
            [(lottery, table) for lottery, table in counted if lottery.board.suite is suite],
            translation_tables(found.within(suite)),
            agreement_tables(found.within(suite)),
        )
        for suite in SUITES.values()
        if any(board.suite is suite for board in found.boards)
    ]


def suite_charts(found: Findings) -> dict[str, list[Chart]]:
    """Draw the charts of every suite, named by both."""
    names = dict.fromkeys(board.suite.name for board in found.boards)
    return {
        name: draw_charts(found.within(SUITES[name]), SUITE_CHARTS, suffix=f"-{name}")
        for name in names
    }


def untried(views: Sequence[SuiteView]) -> list[Untried]:
    """List the suites without any result."""
    there = [view.suite for view in views]
    return [
        Untried(suite.title, _command(suite)) for suite in SUITES.values() if suite not in there
    ]


def _command(suite: Suite) -> str:
    if suite is YOURS:
        return "longarena choose YOUR_DATA"
    return f"longarena sweep --tasks {suite.tasks[0]} --mixers transformer,linear"
