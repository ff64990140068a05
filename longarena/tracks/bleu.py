"""BLEU: how many runs of one to four words a set of translations shares with the references.

    BLEU = 100 BP (p_1 p_2 p_3 p_4)^(1/4)      BP = min(1, exp(1 - r / c))

p_n is the share of n-grams of the translations that stand in their references, c and r the lengths
of both. sacreBLEU computes it from plain text and says in a signature how: two programs that cut
words differently differ by more than a point. chrF, an F-score over runs of characters, stands
beside it.

The standard error is by the bootstrap: sentences are drawn anew, with replacement, a thousand times
from a fixed seed, and the spread of the scores is taken.

Paper:  Papineni et al. (2002), https://aclanthology.org/P02-1040; sacreBLEU: Post (2018),
        https://arxiv.org/abs/1804.08771; chrF: Popovic (2015), https://aclanthology.org/W15-3049;
        bootstrap: Koehn (2004), https://aclanthology.org/W04-3250
Choice: sacreBLEU's defaults: words are cut as by mteval-v13a, which suits European languages, and
        the precision of an order without any match is smoothed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from longarena.seeding import numpy_rng

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

NUM_DRAWS = 1000


@dataclass(frozen=True)
class Bleu:
    """BLEU and chrF of some translations, both from 0 to 100."""

    value: float
    standard_error: float
    chrf: float
    signature: str


def score(hypotheses: Sequence[str], references: Sequence[str], lower_case: bool = False) -> Bleu:
    """Score translations against one reference each; with `lower_case`, whatever their case."""
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415

    _check(hypotheses, references)
    # without `force` it warns of text that was cut into words; some data is, and says so
    bleu, chrf = BLEU(lowercase=lower_case, force=True), CHRF(lowercase=lower_case)
    texts = list(hypotheses), [list(references)]
    value = bleu.corpus_score(*texts).score
    signature = str(bleu.get_signature())
    error = bootstrap_error(_counts(bleu, *texts))
    return Bleu(value, error, chrf.corpus_score(*texts).score, signature)


def sentence_scores(
    hypotheses: Sequence[str], references: Sequence[str], lower_case: bool = False
) -> list[float]:
    """Return the chrF of each translation; BLEU says little about a single sentence."""
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415

    _check(hypotheses, references)
    chrf = CHRF(lowercase=lower_case)
    return [
        chrf.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def bootstrap_error(counts: NDArray[np.int64], num_draws: int = NUM_DRAWS) -> float:
    """Return the standard error of BLEU from what it counts in each sentence.

    A row is a sentence: its length, that of its reference, then the right n-grams of each order
    and all of them.
    """
    number = len(counts)
    drawn = numpy_rng(0, "bleu").integers(0, number, (num_draws, number))
    sums = (counts[row].sum(axis=0) for row in drawn)
    return float(np.std([_bleu(each) for each in sums], ddof=1))


def _bleu(sums: NDArray[np.int64]) -> float:
    """Return the BLEU of a set of sentences."""
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415

    length, reference_length, *numbers = sums.tolist()
    order = len(numbers) // 2
    found: float = BLEU.compute_bleu(
        numbers[:order], numbers[order:], length, reference_length, smooth_method="exp"
    ).score
    return found


def _counts(
    bleu: "BLEU", hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> NDArray[np.int64]:
    """Count in each sentence what BLEU adds up; one row for each."""
    rows = []
    for hypothesis, reference in zip(hypotheses, references[0], strict=True):
        found = bleu.corpus_score([hypothesis], [[reference]])
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return np.array(rows, np.int64)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(f"{len(hypotheses)} translations for {len(references)} references")
