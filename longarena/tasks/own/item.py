"""One example of a user's data as it was found, before it becomes tokens."""

import hashlib
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Sequence = NDArray[Any]  # bytes of a text, or values of any type


@dataclass(frozen=True)
class Item:
    """An example: where it stands, for messages, its sequences, its class, and its split if named.

    A text is a row of bytes, a series a row of values.
    """

    place: str
    sequences: tuple[Sequence, ...]
    label: str
    split: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read in one of its sequences."""
        return any(len(sequence) == 0 for sequence in self.sequences)

    @property
    def digest(self) -> int:
        """A number that is the same for equal sequences, and as good as random otherwise."""
        digest = hashlib.blake2b(digest_size=8)
        for sequence in self.sequences:
            digest.update(len(sequence).to_bytes(8))
            digest.update(sequence.tobytes())
        return int.from_bytes(digest.digest())
