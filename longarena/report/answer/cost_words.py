"""What a mechanism takes at a measured length, in words.

Choice: all speeds are of one session, the one that measured the most.
"""

from dataclasses import dataclass

from longarena.findings.costs import CostTable, StepCost, nearest
from longarena.findings.generation import GenerationTable
from longarena.findings.minutes import clock_name
from longarena.findings.scores import BASELINE, Row
from longarena.findings.verdict import SAME_MEMORY, times
from longarena.report.formatting import bytes_name, card, digits, length_name, many


@dataclass(frozen=True)
class CostWords:
    """What a mechanism takes at one length; an unknown speed or peak is None."""

    speed: float | None
    peak_bytes: float | None
    words: str
    decoding: str
    has_failed: bool = False


@dataclass(frozen=True)
class LengthWords:
    """A length at which costs were measured, or 0 where nothing was."""

    length: int
    title: str
    note: str


def length_words(length: int, session: CostTable | None) -> LengthWords:
    """Say what was measured at a length, and where."""
    if session is None:
        return LengthWords(0, "", "No speed or memory was measured")
    model, title = session.model, length_name(length)
    sizes = f"{many(model.depth, 'layer')} of width {model.width}"
    note = (
        f"Speed and memory: a training step at {title} tokens; batch {session.batch_size}, "
        f"{sizes}; {clock_name(session.machine)}"
    )
    return LengthWords(length, title, note)


def cost_words(
    row: Row, length: int, session: CostTable | None, generation: GenerationTable | None
) -> CostWords:
    """Say what a training step takes, and whether and how a mechanism decodes."""
    decoding = _decoding(row, length, generation)
    if session is None:
        return CostWords(None, None, "speed and memory not measured", decoding)
    failure, cost = session.failures.get((row, length)), session.costs.get((row, length))
    at = f"at {length_name(length)}"
    if cost is None:
        words = f"speed and memory not measured {at}" if failure is None else f"{failure} {at}"
        return CostWords(None, None, words, decoding, has_failed=failure is not None)
    speed = float(f"{cost.steps_per_second:.6g}")
    return CostWords(speed, cost.peak_bytes, _step(row, cost, at), decoding)


def _step(row: Row, cost: StepCost, at: str) -> str:
    """Compare a step with the Transformer's, or say what it takes where there is none."""
    peak = bytes_name(cost.peak_bytes)
    if row == Row(BASELINE) or cost.speed_ratio is None or cost.memory_ratio is None:
        return f"{digits(cost.steps_per_second)} steps per second {at}, with {peak}"
    base, memory = card(BASELINE).title, _memory(cost.memory_ratio)
    return f"{times(cost.speed_ratio)} as the {base} {at}, with {memory} ({peak})"


def _memory(ratio: float) -> str:
    """Write a ratio of memory.

    >>> _memory(0.5), _memory(1.1)
    ('0.5 times its memory', 'about its memory')
    """
    is_same = 1 / SAME_MEMORY < ratio < SAME_MEMORY
    return "about its memory" if is_same else f"{ratio:.2g} times its memory"


def _decoding(row: Row, length: int, generation: GenerationTable | None) -> str:
    """Say whether a mechanism can decode, and what it then carries from token to token."""
    if not row.card.causal:
        return "cannot decode"
    costs = generation.costs if generation else {}
    context = nearest((at for each, at in costs if each == row), length or 1)
    if context is None:
        return "decodes"
    carried = bytes_name(costs[row, context].state_bytes)
    return f"decodes, carrying {carried} after {length_name(context)}"
