"""The signature of a task: all that a model must know about it. The card is prose for people."""

from typing import Literal

from longarena.options import Options


class Signature(Options):
    """What goes into a model and what comes out of it.

    `vocab_size` counts the ids of a batch, including 0 for padding. `num_classes` is None where
    the answer is not one of several classes. `track` says what is predicted and how it is scored.
    `has_values` says that a token is a quantity, such as a shade of grey, so that a model may read
    it as a number. Where a long stream is scored in windows of `max_length` tokens, each window
    reads `overlap` tokens that counted before. `num_asked` is the greatest number of positions at
    which an example of the track `recall` asks something; None means that it may ask everywhere.
    `masked_share` is the share of the tokens that the tracks of denoising hide.
    """

    vocab_size: int
    max_length: int
    num_sequences: Literal[1, 2] = 1
    num_classes: int | None = None
    track: str = "classification"
    has_values: bool = False
    overlap: int = 0
    num_asked: int | None = None
    masked_share: float = 0.0
