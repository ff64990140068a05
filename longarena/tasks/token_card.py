"""The card of a task's texts as tokens: what a token is, how long texts are, what is unknown."""

from collections.abc import Mapping

import numpy as np

from longarena.data.dataset import Dataset
from longarena.data.tokens import UNKNOWN
from longarena.options import Options
from longarena.tasks.own.card import lengths_line, quantiles
from longarena.tasks.tokens import NAMES, TokenTask


class TokenCard(Options):
    """How the texts of prepared data are cut, by split.

    Lengths are those of each text, after what is longer than `max_length` was cut; `means` are
    their means. `unknown` is the share of the tokens that are words outside the vocabulary.
    """

    tokens: str
    vocabulary: int
    max_length: int
    lengths: Mapping[str, Mapping[str, int]]
    means: Mapping[str, float]
    unknown: Mapping[str, float] | None

    def facts(self) -> dict[str, str]:
        """Write the card for a person to read."""
        unit = "bytes" if self.tokens == "bytes" else "tokens"
        means = ", ".join(f"{split} {mean:,.0f}" for split, mean in self.means.items())
        found = {
            "tokens": f"{NAMES[self.tokens]}, {self.vocabulary:,} in all",
            f"lengths in {unit}": lengths_line(self.lengths),
            "mean lengths": f"{means}, cut at {self.max_length:,}",
        }
        if self.unknown is not None:
            shares = (f"{split} {share:.2%}" for split, share in self.unknown.items())
            found["unknown words"] = ", ".join(shares)
        return found


def token_card(task: TokenTask, data: Dataset) -> TokenCard:
    """Look at prepared texts."""
    options, splits = task.options, {name: data.split(name) for name in data.sizes}
    lengths = {name: np.diff(split.offsets) for name, split in splits.items()}
    is_words = options.tokens == "words"
    return TokenCard(
        tokens=options.tokens,
        vocabulary=task.tokeniser().num_tokens if options.has_tokeniser else options.vocab_size - 1,
        max_length=options.max_length,
        lengths={name: quantiles(found) for name, found in lengths.items()},
        means={name: float(found.mean()) for name, found in lengths.items()},
        unknown={name: float(np.mean(each.tokens == UNKNOWN)) for name, each in splits.items()}
        if is_words
        else None,
    )
