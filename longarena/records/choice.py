"""The record of a choice: which mechanisms were compared on some data, how each got on, who won.

It stands beside the records of the runs and of the measurements that it rests on. What it says in
words is a function of it (`findings/verdict.py`).
"""

from typing import Literal

from pydantic import Field, model_validator

from longarena.attention.cards import MixerCard, OwnMixer, card_of
from longarena.options import Natural, Options
from longarena.recipes.recipe import Recipe, TaskChoice
from longarena.runtime import Machine, Versions
from longarena.tracks.metric import Metric

Fate = Literal["final", "dropped", "left out"]


class Constraints(Options):
    """What a mechanism must fulfil; an empty `only` means every one of the table."""

    must_decode: bool = False
    max_memory_bytes: float | None = Field(None, gt=0)
    max_mult_adds: float | None = Field(None, gt=0)
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class Gap(Options):
    """By how much one score is above another, and between which bounds that may be."""

    value: float
    low: float
    high: float

    @property
    def is_tie(self) -> bool:
        """Whether neither is above the other beyond error."""
        return self.low <= 0 <= self.high


class TriedRate(Options):
    """One of the rates that were tried, and its best validation by the first comparison."""

    rate: float
    run: str
    score: float | None


class Tested(Options):
    """What a finalist scored on the test split; its gaps are to the best and to the yardstick.

    `still_rises` says that its last validation was clearly better than the first half of them.
    """

    value: float
    error: float
    to_best: Gap
    to_yardstick: Gap | None = None
    still_rises: bool = False


class Entrant(Options):
    """One mechanism, named as `name[option=value]`.

    `scores` are its best validations by each comparison that it reached, None where it had
    diverged. A finalist without `tested` has diverged or failed. `reason` says why it was left
    out, dropped or not tested.
    """

    mixer: str
    fate: Fate
    reason: str = ""
    seconds_per_step: float | None = Field(None, gt=0)
    peak_bytes: Natural | None = None
    rates: list[TriedRate] = Field(default_factory=list)
    rate: float | None = None
    scores: list[float | None] = Field(default_factory=list)
    run: str = ""
    tested: Tested | None = None
    own: OwnMixer | None = None

    @property
    def card(self) -> MixerCard:
        """The card of the mechanism; of a user's own, what was noted of it."""
        return card_of(self.name, self.own)

    @property
    def name(self) -> str:
        """The mechanism without its options."""
        return self.mixer.partition("[")[0]


class ChoiceRecord(Options):
    """Which mechanism to take for some data, found in some minutes.

    All were trained for up to `steps` steps and compared at the `rungs`; `recipe` trains the one
    that was `taken` fully. Nothing is taken where nothing has learnt. Speed and memory are those
    of a training step at `length` tokens.
    """

    format: Literal[2] = 2
    kind: Literal["choice"] = "choice"
    id: str
    task: TaskChoice
    preset: str
    metric: Metric
    variant: str
    fingerprint: str
    constraints: Constraints
    minutes: float
    length: Natural
    batch_size: Natural
    steps: Natural
    rungs: list[Natural] = Field(min_length=1)
    level: float
    test_examples: Natural
    entrants: list[Entrant]
    taken: str = ""
    recipe: Recipe | None = None
    machine: Machine
    versions: Versions
    finished_at: str

    @model_validator(mode="after")
    def _belongs_together(self) -> "ChoiceRecord":
        tested = {each.mixer for each in self.entrants if each.tested}
        if self.taken and self.taken not in tested:
            raise ValueError("the mechanism that was taken was never tested")
        if bool(self.taken) != (self.recipe is not None):
            raise ValueError("a mechanism is taken with the recipe that trains it")
        if any(len(each.scores) > len(self.rungs) for each in self.entrants):
            raise ValueError("an entrant has more scores than there are rungs")
        return self

    @property
    def finalists(self) -> list[Entrant]:
        """The mechanisms that were trained to the end and tested."""
        return [each for each in self.entrants if each.tested]

    def find(self, mixer: str) -> Entrant | None:
        """Return the entrant of this name."""
        return next((each for each in self.entrants if each.mixer == mixer), None)
