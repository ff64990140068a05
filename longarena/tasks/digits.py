r"""Digits: say which digit was spoken, given the samples of the recording as they are.

    recordings/{digit}_{speaker}_{index}.wav      0 to 9, six speakers, fifty times each

Half a second of sound at 8 kHz is a row of 1,148 to 18,262 numbers, half of them below 3,360: real
audio beside the arena's pixels and bytes. A model must find tones and how they change over time
without being told of frequencies.

Data:   Free Spoken Digit Dataset, https://github.com/Jakobovski/free-spoken-digit-dataset
Choice: the official test set, recordings 0 to 4; valid is a seeded tenth of each digit of the rest.
Choice: a recording is scaled so that its loudest sample is 1 or -1: speakers differ in loudness,
        which says nothing of the digit. A token is one of 65,535 steps, so nothing of the 16 bits
        is lost; `model.input=value` reads it as a number.
Choice: `rate` averages neighbouring samples, `max_length` cuts what is longer: for small machines.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np
from pydantic import Field

from longarena.data.archive import Source
from longarena.data.dataset import Chunk, DiskTokens
from longarena.data.download import Download
from longarena.data.wav import decode
from longarena.errors import UserError
from longarena.options import Options
from longarena.seeding import numpy_rng
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.curve import draw_values
from longarena.tasks.raw_input import LOUDEST, LoudnessInput
from longarena.tasks.signature import Signature
from longarena.tasks.splits import held_out

NAME = re.compile(r"(?:.*/)?recordings/(\d)_([a-z]+)_(\d+)\.wav")
RATE: Final = 8000
LONGEST = 18_262
FIRST_OF_TRAIN = 5
MAX_SAMPLES = 1 << 20


class DigitsOptions(Options):
    """How many samples of a recording are read, and how many make a second."""

    max_length: int = Field(LONGEST, ge=1)
    rate: Literal[8000, 4000, 2000, 1000] = RATE


class Digits(Task):
    """Ten-way classification of short recordings."""

    options_type = DigitsOptions
    options: DigitsOptions
    download = Download(
        "https://github.com/Jakobovski/free-spoken-digit-dataset/archive/refs/tags/v1.0.10.tar.gz",
        None,
    )

    @property
    def signature(self) -> Signature:
        longest = LONGEST * self.options.rate // RATE
        return Signature(
            vocab_size=2 * LOUDEST + 2,
            max_length=min(longest, self.options.max_length),
            num_classes=10,
            has_values=True,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="digits",
            version=1,
            title="Digits (speech, samples)",
            question="Which digit is spoken?",
            sizes={"train": 2_430, "valid": 270, "test": 300},
            splits="official test; valid: a seeded tenth of each digit of the official train",
            source="free-spoken-digit-dataset v1.0.10",
            licence="CC BY-SA 4.0",
            citation="Jackson et al. (2018), https://doi.org/10.5281/zenodo.1342401",
        )

    @property
    def raw_input(self) -> LoudnessInput:
        return LoudnessInput(rate=self.options.rate)

    def read(self, source: Source) -> Iterator[tuple[str, Chunk]]:
        found = self._recordings(source)
        train = [key for key in found if key[2] >= FIRST_OF_TRAIN]
        digits = np.array([digit for digit, _, _ in train], np.int64)
        valid = held_out(digits, numpy_rng(self.card.version, "digits", "valid"))
        parts = {
            "train": [train[i] for i in np.flatnonzero(~valid)],
            "valid": [train[i] for i in np.flatnonzero(valid)],
            "test": [key for key in found if key[2] < FIRST_OF_TRAIN],
        }
        for split, keys in parts.items():
            for key in keys:
                length, digit = np.array([len(found[key])]), np.array([key[0]])
                yield split, Chunk(found[key], length, digit)

    def _recordings(self, source: Source) -> dict[tuple[int, str, int], DiskTokens]:
        """Read all recordings, sorted by digit, speaker and index: archives come in any order."""
        found = {}
        for name, file in source.members(lambda name: NAME.fullmatch(name) is not None):
            match = NAME.fullmatch(name)
            if match is not None:
                recording = decode(file.read(), name, MAX_SAMPLES)
                if recording.rate != RATE:
                    raise UserError(f"{name} has {recording.rate} samples a second, not {RATE}")
                samples = recording.at_rate(self.options.rate, name).samples
                key = int(match[1]), match[2], int(match[3])
                tokens = self.raw_input.encode(samples, None)
                found[key] = tokens[: self.options.max_length]
        if not found:
            raise UserError(
                f"{source.path} has no recordings/<digit>_<speaker>_<index>.wav; "
                "it should be the Free Spoken Digit Dataset or its folder"
            )
        return dict(sorted(found.items()))

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        return f"{label}:\n{draw_values(sequences[0], self.signature.vocab_size)}"
