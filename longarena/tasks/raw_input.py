"""What goes into a model before it is tokens: the kinds of raw input, and how each becomes tokens.

    text          a token for each byte of UTF-8, or byte pairs of a tokeniser
    values        bytes as they are, or numbers between two limits in equal steps
    loudness      samples of sound as shares of the loudest, in equal steps
    expression    a ListOps expression, such as [MAX 2 9 ]
    tokens        the numbers of the tokens themselves

A task names its kind as a value without any data in it. So whoever loads a trained model can give
it texts and arrays as they are, where neither the task nor its data is known.
"""

from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from longarena.data.dataset import DiskTokens
from longarena.data.tokens import Tokeniser
from longarena.errors import UserError
from longarena.options import Options
from longarena.tasks.expressions import TOKENS, UNKNOWN, encode

Raw = str | bytes | ArrayLike
Values = NDArray[Any]

STEPS: Final = 1 << 16
LOUDEST: Final = 32_767  # a token is 0 for -1 and twice this for 1


class TextInput(Options):
    """Texts; in a table they stand in these columns, whose names its first line may say."""

    kind: Literal["text"] = "text"
    columns: tuple[str, ...] = ("text",)
    has_header: bool = True
    has_tokeniser: bool = False

    def encode(self, raw: Raw, tokeniser: Tokeniser | None) -> DiskTokens:
        """Take the bytes of a text, or what a tokeniser makes of it."""
        content = text_bytes(raw)
        if tokeniser is None:
            return np.frombuffer(content, np.uint8)
        try:
            return np.array(tokeniser.encode(content.decode()), np.uint16)
        except UnicodeDecodeError:
            raise UserError("it is not UTF-8; save it so") from None


class ValueInput(Options):
    """Values between `low` and `high`, or bytes if these are None.

    In an .npz their array is called `array`; recordings are averaged to `rate` samples a second.
    """

    kind: Literal["values"] = "values"
    low: float | None = None
    high: float | None = None
    array: str = "x"
    rate: int | None = None

    def encode(self, raw: Raw, tokeniser: Tokeniser | None) -> DiskTokens:
        """Round values to the steps of the scale."""
        values = finite_values(raw)
        if self.low is None or self.high is None:
            return whole_numbers(values, 256).astype(np.uint8)
        return scaled_to_steps(values, self.low, self.high)


class LoudnessInput(Options):
    """Recordings at `rate` samples a second, each scaled to its loudest sample."""

    kind: Literal["loudness"] = "loudness"
    rate: int | None = None

    def encode(self, raw: Raw, tokeniser: Tokeniser | None) -> DiskTokens:
        """Scale a recording to its loudest sample, and count in steps from -1."""
        samples = finite_values(raw).astype(np.float32)
        loudest = float(np.abs(samples).max(initial=0)) or 1.0
        tokens: DiskTokens = (np.rint(samples / loudest * LOUDEST) + LOUDEST).astype(np.uint16)
        return tokens


class ExpressionInput(Options):
    """ListOps expressions as text."""

    kind: Literal["expression"] = "expression"

    def encode(self, raw: Raw, tokeniser: Tokeniser | None) -> DiskTokens:
        """Read the operators, brackets and digits of an expression."""
        tokens = np.frombuffer(encode(text_bytes(raw)), np.uint8)
        if UNKNOWN in tokens:
            raise UserError(f"it is not an expression of {' '.join(TOKENS)}")
        return tokens


class TokenInput(Options):
    """The numbers of tokens, from 0; as text they have spaces between."""

    kind: Literal["tokens"] = "tokens"

    def encode(self, raw: Raw, tokeniser: Tokeniser | None) -> DiskTokens:
        """Take the numbers as they are."""
        if not isinstance(raw, str | bytes):
            return whole_numbers(finite_values(raw), STEPS).astype(np.uint16)
        words = text_bytes(raw).split()
        if not all(word.isdigit() and len(word) <= len(str(STEPS)) for word in words):
            raise UserError("it is not a row of whole numbers with spaces between")
        return whole_numbers(np.array([*map(int, words)], np.int64), STEPS).astype(np.uint16)


RawInput = Annotated[
    TextInput | ValueInput | LoudnessInput | ExpressionInput | TokenInput,
    Field(discriminator="kind"),
]


def text_bytes(raw: Raw) -> bytes:
    """Return the bytes of a text."""
    if isinstance(raw, bytes):
        return raw
    if not isinstance(raw, str):
        raise UserError(f"it is a {type(raw).__name__}, and this model reads text")
    try:
        return raw.encode()
    except UnicodeEncodeError:
        raise UserError("it has half of a character in it") from None


def finite_values(raw: Raw) -> Values:
    """Return numbers as one row, without the NaN that fills up its end."""
    values = np.empty(0) if isinstance(raw, str | bytes) else np.asarray(raw).reshape(-1)
    if isinstance(raw, str | bytes) or values.dtype.kind not in "buif":
        raise UserError(f"it is a {type(raw).__name__}, and this model reads rows of numbers")
    values = trimmed(values)
    if not np.isfinite(values).all():
        raise UserError("it has a value that is no number; NaN may only fill up the end of a row")
    return values


def trimmed(row: Values) -> Values:
    """Cut off the NaN that fills up a row at its end."""
    if row.dtype.kind != "f" or not len(row) or not np.isnan(row[-1]):
        return row
    real = np.flatnonzero(~np.isnan(row))
    return row[: real[-1] + 1] if len(real) else row[:0]


def whole_numbers(values: Values, number: int) -> Values:
    """Refuse what is not one of 0 ... number - 1."""
    if ((values < 0) | (values >= number) | (values != np.rint(values))).any():
        raise UserError(f"its values are not whole numbers from 0 to {number - 1:,}")
    return values


def scaled_to_steps(values: Values, low: float, high: float) -> DiskTokens:
    """Round values to equal steps between two limits; what lies beyond is moved to the edge."""
    steps = np.rint((values.astype(np.float64) - low) / (high - low) * (STEPS - 1))
    return np.clip(steps, 0, STEPS - 1).astype(np.uint16)
