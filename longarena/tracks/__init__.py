"""What is predicted and how it is scored: one file per track, and the table of them.

The table names the classes instead of importing them, so that a metric can be read without torch.
"""

from typing import TYPE_CHECKING

from longarena.loading import load_class
from longarena.tasks.signature import Signature

if TYPE_CHECKING:
    from longarena.tracks.base import Track

TRACKS = {
    "classification": "longarena.tracks.classification:Classification",
    "denoising": "longarena.tracks.denoising:TokenDenoising",
    "language": "longarena.tracks.language:Language",
    "recall": "longarena.tracks.recall:Recall",
    "translation": "longarena.tracks.translation:Translation",
    "value-denoising": "longarena.tracks.denoising:ValueDenoising",
}


def track_of(signature: Signature) -> "Track":
    """Return the track of a task: one from the table, or a user's own by `module:Class`."""
    from longarena.tracks.base import Track  # noqa: PLC0415

    place = TRACKS.get(signature.track, signature.track)
    return load_class("track", place, Track, TRACKS).of(signature)  # type: ignore[type-abstract]
