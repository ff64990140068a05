"""BLEU under Mult-Adds as the Lite Transformer's paper has it, each number with where it was read.

The Mult-Adds are of a sentence of 30 tokens and its translation of 30, without embedding and output
map. That reading is confirmed by counting: six layers each way give every published number within a
million, for a Transformer of width 128, 256 and 320 with a feed-forward four times as wide (WMT'14:
87M, 338M, 527M) and for the authors' configuration files (`tests/model/test_sentence_cost.py`).

Paper:  Wu et al. (2020), https://arxiv.org/abs/2004.11886
Choice: only numbers that could be read or derived. Those of the Lite Transformer on WMT'14 stand in
        the README of its repository, which names the two languages the wrong way round: 39.6 is
        known from the abstract to be French. The abstract gives by how much the Transformer is
        worse on French (1.7 at 100M, 1.2 at 500M). The IWSLT'14 numbers could not be read anywhere.
"""

from dataclasses import dataclass

ADDRESS = "https://github.com/mit-han-lab/lite-transformer"
MILLION = 1_000_000


@dataclass(frozen=True)
class PublishedBleu:
    """A system's BLEU at a number of Mult-Adds."""

    mixer: str
    mult_adds: int
    bleu: float


@dataclass(frozen=True)
class PublishedTranslation:
    """What was published about one set of sentences."""

    title: str
    task: str
    direction: str
    points: tuple[PublishedBleu, ...]


def _points(mixer: str, **bleu_at: float) -> tuple[PublishedBleu, ...]:
    amounts = ((int(name.removeprefix("at_")), bleu) for name, bleu in bleu_at.items())
    return tuple(PublishedBleu(mixer, millions * MILLION, bleu) for millions, bleu in amounts)


TRANSLATIONS = (
    PublishedTranslation(
        title="WMT'14 English to German",
        task="wmt14",
        direction="en-de",
        points=_points("lite-transformer", at_90=22.5, at_360=25.6, at_527=26.5),
    ),
    PublishedTranslation(
        title="WMT'14 English to French",
        task="wmt14",
        direction="en-fr",
        points=(
            *_points("transformer", at_87=33.6, at_527=38.4),
            *_points("lite-transformer", at_90=35.3, at_360=39.1, at_527=39.6),
        ),
    ),
)
