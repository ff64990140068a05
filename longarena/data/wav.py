"""Read recordings: WAV files of whole numbers (PCM) of 8, 16, 24 or 32 bits.

Several channels become one by their mean. A sample is a number from -1 to 1, whatever its bits.

Choice: the reader of the standard library; what it does not know (floats, compression) is refused.
"""

import io
import wave
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longarena.errors import UserError

Samples = NDArray[np.float32]


@dataclass(frozen=True)
class Recording:
    """The samples of one channel, and how many of them make a second."""

    samples: Samples
    rate: int

    def at_rate(self, rate: int, name: str) -> "Recording":
        """Return the recording at a lower rate: each sample is the mean of neighbours."""
        if rate == self.rate:
            return self
        factor, rest = divmod(self.rate, rate)
        if rest or not factor:
            raise UserError(
                f"{name}: {self.rate} samples a second cannot be averaged to {rate}; "
                f"choose a part of it such as {self.rate // 2}"
            )
        number = len(self.samples) // factor
        blocks = self.samples[: number * factor].reshape(number, factor)
        return Recording(blocks.mean(axis=1, dtype=np.float32), rate)


def decode(content: bytes, name: str, most: int) -> Recording:
    """Read a WAV file of at most `most` samples; refuse any other content by its name."""
    try:
        with wave.open(io.BytesIO(content)) as file:
            width, channels = file.getsampwidth(), file.getnchannels()
            rate, number = file.getframerate(), file.getnframes()
            if number > most:
                raise UserError(f"{name} has {number:,} samples; cut it, {most:,} are the most")
            frames = file.readframes(number)
    except (wave.Error, EOFError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        reason = error if str(error) else "it is cut off"
        raise UserError(f"{name} is not a WAV file of plain samples ({reason})") from None
    if rate < 1 or len(frames) % (width * channels):
        raise UserError(f"{name} is damaged: it ends inside a sample")
    samples = _numbers(frames, width).reshape(-1, channels).mean(axis=1, dtype=np.float32)
    return Recording(samples, rate)


def _numbers(frames: bytes, width: int) -> Samples:
    """Turn samples of `width` bytes into numbers from -1 to 1."""
    if width == 1:  # the only unsigned ones
        return ((np.frombuffer(frames, np.uint8) - 128.0) / 128).astype(np.float32)
    if width == 3:
        # the three bytes become the upper ones of four
        parts = np.zeros((len(frames) // 3, 4), np.uint8)
        parts[:, 1:] = np.frombuffer(frames, np.uint8).reshape(-1, 3)
        frames, width = parts.tobytes(), 4
    whole = np.frombuffer(frames, f"<i{width}")
    return (whole / float(1 << (8 * width - 1))).astype(np.float32)
