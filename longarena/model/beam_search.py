"""Beam search: keep the best few beginnings of a translation, and let each go on by one token.

    log p(y | x) = sum_t log p(y_t | y_<t, x)        score(y) = log p(y | x) / |y|^penalty

|y| counts the end token. At every step the candidates are the hypotheses of the beam, each with one
more token. Among the best `beam` of them, those that end are complete; the best `beam` that do not
end go on. A sentence is done when it has `beam` complete hypotheses, or where it may not grow. The
answer is the complete hypothesis with the best score. With a beam of 1 it is the greedy one.

These are the rules of fairseq's `SequenceGenerator`. All sentences of a batch take a step together;
those that are done leave it. What a sentence becomes does not depend on the others.

Choice: a translation is never empty, as in fairseq (min_len = 1). It has at most twice the tokens
        of its source and ten more, so that a model that has not learnt to end costs little;
        fairseq allows 200.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from longarena.model.decoding import Decoding
from longarena.model.stepping import NextLogits
from longarena.model.target_stepping import TargetStepper
from longarena.model.translation import TranslationModel
from longarena.shapes import Ids

TIMES, MORE = 2, 10  # how long a translation may be, by the tokens of its source


@dataclass(frozen=True)
class Hypothesis:
    """A complete translation: its ids without the end token, and its score."""

    ids: list[int]
    score: float


@dataclass(frozen=True)
class Beam:
    """The hypotheses of the sentences that are not done; one of probability 0 is only a place.

    `limits` are the most tokens that each may have.
    """

    sentences: Int[Tensor, " sentences"]
    limits: Int[Tensor, " sentences"]
    log_p: Float[Tensor, "sentences beam"]
    ids: Int[Tensor, "sentences beam written"]

    @property
    def num_written(self) -> int:
        """How many tokens every hypothesis has."""
        return self.ids.shape[2]

    def of(self, kept: Bool[Tensor, " sentences"]) -> "Beam":
        """Keep some sentences."""
        return Beam(self.sentences[kept], self.limits[kept], self.log_p[kept], self.ids[kept])


@dataclass(frozen=True)
class Candidates:
    """The best continuations of every sentence, the best first."""

    log_p: Float[Tensor, "sentences candidates"]
    parents: Int[Tensor, "sentences candidates"]
    ids: Int[Tensor, "sentences candidates"]
    is_end: Bool[Tensor, "sentences candidates"]


@dataclass
class Search:
    """Collects the complete hypotheses of every sentence."""

    decoding: Decoding
    complete: list[list[Hypothesis]]

    def collect(self, beam: Beam, found: Candidates) -> None:
        """Take those of the best candidates that end."""
        width = self.decoding.beam
        divisor = (beam.num_written + 1) ** self.decoding.length_penalty
        for sentence, place in found.is_end[:, :width].nonzero().tolist():
            complete = self.complete[int(beam.sentences[sentence])]
            if len(complete) < width:
                ids = beam.ids[sentence, found.parents[sentence, place]].tolist()
                complete.append(Hypothesis(ids, float(found.log_p[sentence, place]) / divisor))

    def best(self) -> list[Hypothesis]:
        """Return the best hypothesis of every sentence, an empty one where there is none."""
        nothing = Hypothesis([], -math.inf)
        return [max(each, key=lambda h: h.score, default=nothing) for each in self.complete]

    def is_open(self, beam: Beam) -> Bool[Tensor, " sentences"]:
        """Tell which sentences are not done: they want more hypotheses, and have some to go on."""
        counts = [len(self.complete[sentence]) for sentence in beam.sentences.tolist()]
        wanted = torch.tensor(counts, device=beam.limits.device) < self.decoding.beam
        return wanted & (beam.log_p > -math.inf).any(dim=1)


@torch.inference_mode()
def translate(model: TranslationModel, source: Ids, decoding: Decoding) -> list[Hypothesis]:
    """Translate sentences side by side; the best hypothesis of each, in their order."""
    width = decoding.beam
    stepper = TargetStepper(model, source, width)
    search = Search(decoding, [[] for _ in source])
    beam = _first_beam(source, width, model.max_length)
    logits = stepper.start()
    while True:
        found = _extend(beam, logits, model.end)
        search.collect(beam, found)
        beam, rows = _go_on(beam, found)
        is_open = search.is_open(beam)
        beam, rows = beam.of(is_open), rows[is_open].flatten()
        if len(rows) == 0:
            return search.best()
        stepper.choose(rows)
        logits = stepper.read(beam.ids[:, :, -1].flatten())


def _first_beam(source: Ids, width: int, longest: int) -> Beam:
    """Begin with one hypothesis for every sentence, which has no token yet."""
    number, device = len(source), source.device
    log_p = torch.full((number, width), -math.inf, dtype=torch.float64, device=device)
    log_p[:, 0] = 0.0
    limits = (TIMES * (source != 0).sum(dim=1) + MORE).clamp_max(longest)
    ids = torch.zeros(number, width, 0, dtype=torch.int64, device=device)
    return Beam(torch.arange(number, device=device), limits, log_p, ids)


def _extend(beam: Beam, logits: NextLogits, end: int) -> Candidates:
    """Choose the best continuations: twice as many as go on, since half of them may end."""
    number, width = beam.log_p.shape
    log_p = logits.double().log_softmax(dim=-1).view(number, width, -1)
    # the class of an id is one less
    if beam.num_written == 0:
        log_p[..., end - 1] = -math.inf
    log_p[beam.num_written >= beam.limits, :, : end - 1] = -math.inf
    total = (beam.log_p[..., None] + log_p).flatten(1)
    best, places = total.topk(min(2 * width, total.shape[1]), dim=1)
    ids = places % end + 1
    is_end = (ids == end) & (best > -math.inf)
    return Candidates(best, places // end, ids, is_end)


def _go_on(beam: Beam, found: Candidates) -> tuple[Beam, Int[Tensor, "sentences beam"]]:
    """Go on with the best candidates that do not end; also say which rows they come from."""
    number, width = beam.log_p.shape
    # those that end come last; the others stay in their order
    chosen = found.is_end.int().argsort(dim=1, stable=True)[:, :width]
    log_p = found.log_p.masked_fill(found.is_end, -math.inf).gather(1, chosen)
    parents, newest = (each.gather(1, chosen) for each in (found.parents, found.ids))
    before = beam.ids.gather(1, parents[..., None].expand(-1, -1, beam.num_written))
    ids = torch.cat([before, newest[..., None]], dim=2)
    rows = parents + width * torch.arange(number, device=parents.device)[:, None]
    return replace(beam, log_p=log_p, ids=ids), rows
