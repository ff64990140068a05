"""Everything that some records say, computed once: tables, charts and the page are made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from longarena.attention.cards import MixerCard
from longarena.findings.boards import Board, boards
from longarena.findings.contests import Contest, contests
from longarena.findings.costs import CostTable, cost_tables, widest
from longarena.findings.families import FamilyTable, rank_families
from longarena.findings.generation import GenerationTable, generation_tables
from longarena.findings.scores import Column, Row, ScoreTable, row_order, score_table
from longarena.findings.selection import MOST_RESULTS, charted, select
from longarena.findings.suites import Suite, suite_of
from longarena.findings.ties import Pairs, pairs
from longarena.records.folder import Records
from longarena.records.summary import AnyRecord
from longarena.report.formatting import row_name
from longarena.report.links import MOST_PAGES, AnyRun, RunLine, chosen_lines, run_lines
from longarena.runtime import no_collection


@dataclass(frozen=True)
class Findings:
    """Records, what was computed from them, and where the page of each run lies.

    `trained` are all mechanisms of the page, so that each looks the same in every chart.
    """

    records: Records
    trained: tuple[Row, ...]
    scores: ScoreTable
    boards: list[Board]
    costs: list[CostTable]
    generations: list[GenerationTable]
    lines: list[RunLine]

    @classmethod
    def of(cls, records: Records) -> "Findings":
        """Compute what some records say."""
        with no_collection():
            scores = score_table(records.runs, records.tunings)
            return cls(
                records=records,
                trained=scores.rows,
                scores=scores,
                boards=boards(scores),
                costs=cost_tables(records.measurements),
                generations=generation_tables(records.generations),
                lines=run_lines([*records.runs, *records.failures]),
            )

    @property
    def is_large(self) -> bool:
        """Whether there are more results than a page has room for."""
        return len(self.scores.scores) > MOST_RESULTS

    @cached_property
    def shown(self) -> "Findings":
        """What a page has room for, which is all but of very many results or runs."""
        scores = select(self.scores)
        if scores is self.scores and len(self.lines) <= MOST_PAGES:
            return self
        behind = {id(score.runs[0]) for score in scores.scores.values()}
        return replace(self._with(scores), lines=chosen_lines(self.lines, behind))

    @cached_property
    def charted(self) -> "Findings":
        """What charts have room for, which is all but of very many results."""
        scores = charted(self.scores)
        return self if scores is self.scores else self._with(scores)

    def _with(self, scores: ScoreTable) -> "Findings":
        return replace(self, trained=scores.rows, scores=scores, boards=boards(scores))

    def within(self, suite: Suite) -> "Findings":
        """Keep the runs of one suite, and what was computed from them."""
        columns = tuple(at for at in self.scores.columns if suite_of(at.task) is suite)
        scores = {at: score for at, score in self.scores.scores.items() if at[1] in columns}
        rows = {row for row, _ in scores}
        runs = [run for run in self.records.runs if suite_of(run.task_name) is suite]
        return replace(
            self,
            records=replace(self.records, runs=runs),
            scores=ScoreTable(tuple(filter(rows.__contains__, self.trained)), columns, scores),
            boards=[board for board in self.boards if board.suite is suite],
        )

    @property
    def every(self) -> list[AnyRecord]:
        """All records of all kinds."""
        found = self.records
        runs: list[AnyRecord] = [*found.runs, *found.failures, *found.tunings, *found.choices]
        return [*runs, *found.measurements, *found.generations, *found.spans]

    @cached_property
    def measured(self) -> CostTable | None:
        """The latest session in which a measurement succeeded."""
        return next((table for table in self.costs if table.costs), None)

    @cached_property
    def widest(self) -> CostTable | None:
        """The session that measured the most, for what needs the costs of many mechanisms."""
        return widest(self.costs)

    @cached_property
    def contests(self) -> list[Contest]:
        """Who can be compared with whom on which tasks, but for those that a choice was about."""
        asked = {choice.task.name for choice in self.records.choices}
        every = contests(self.boards, self.pairs)
        return [each for each in every if not {at.task for at in each.columns} <= asked]

    def pairs(self, board: Board, column: Column) -> Pairs:
        """Say by how much each mechanism of a column is better than every other."""
        at = id(board), column
        if at not in self._pairs:
            self._pairs[at] = pairs(board.alike(column), self.records.answers_of)
        return self._pairs[at]

    @cached_property
    def _pairs(self) -> dict[tuple[int, Column], Pairs]:
        return {}

    @cached_property
    def families(self) -> FamilyTable:
        """The mechanisms by family, and where each stands."""
        return rank_families(self.boards, self.costs)

    @cached_property
    def cards(self) -> Mapping[str, MixerCard]:
        """The card of every mechanism that a chart may name, by the name it has there."""
        rows = {*self.trained, *(self.measured.rows if self.measured else ())}
        return {row_name(row): row.card for row in sorted(rows, key=row_order)}

    def href(self, record: AnyRun) -> str:
        """Return the place of a run's page; empty if it has none."""
        return self._hrefs.get(id(record), "")

    @cached_property
    def _hrefs(self) -> dict[int, str]:
        return {id(line.record): line.href for line in self.lines}
