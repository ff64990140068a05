"""Everything that some records say, computed once: tables, charts and the page are made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from longarena.attention.cards import MixerCard
from longarena.findings.boards import Board, boards
from longarena.findings.costs import CostTable, cost_tables
from longarena.findings.families import FamilyTable, rank_families
from longarena.findings.generation import GenerationTable, generation_tables
from longarena.findings.scores import ScoreTable, row_order, score_table
from longarena.records.folder import Records
from longarena.records.record import Record
from longarena.report.formatting import row_name
from longarena.report.links import AnyRun, RunLine, run_lines


@dataclass(frozen=True)
class Findings:
    """Records, what was computed from them, and where the page of each run lies."""

    records: Records
    scores: ScoreTable
    boards: list[Board]
    costs: list[CostTable]
    generations: list[GenerationTable]
    lines: list[RunLine]

    @classmethod
    def of(cls, records: Records) -> "Findings":
        """Compute what some records say."""
        scores = score_table(records.runs, records.tunings)
        return cls(
            records=records,
            scores=scores,
            boards=boards(scores),
            costs=cost_tables(records.measurements),
            generations=generation_tables(records.generations),
            lines=run_lines([*records.runs, *records.failures]),
        )

    @property
    def every(self) -> list[Record]:
        """All records of all kinds."""
        found = self.records
        runs: list[Record] = [*found.runs, *found.failures, *found.tunings, *found.choices]
        return [*runs, *found.measurements, *found.generations, *found.spans]

    @cached_property
    def measured(self) -> CostTable | None:
        """The latest session in which a measurement succeeded."""
        return next((table for table in self.costs if table.costs), None)

    @cached_property
    def families(self) -> FamilyTable:
        """The mechanisms by family, and where each stands."""
        return rank_families(self.boards, self.costs)

    @cached_property
    def cards(self) -> Mapping[str, MixerCard]:
        """The card of every mechanism that a chart may name, by the name it has there."""
        rows = {*self.scores.rows, *(self.measured.rows if self.measured else ())}
        return {row_name(row): row.card for row in sorted(rows, key=row_order)}

    def href(self, record: AnyRun) -> str:
        """Return the place of a run's page."""
        return self._hrefs[id(record)]

    @cached_property
    def _hrefs(self) -> dict[int, str]:
        return {id(line.record): line.href for line in self.lines}
