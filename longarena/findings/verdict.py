"""What a choice says in words, and its entrants in order: pure functions of its record.

    take Local: as accurate as the Transformer within error, 3.1 times as fast at your 3,400 tokens

A mechanism is mentioned for more time only if its score still rose at the end and it was the best
or tied with it. Where nothing has learnt, that is said instead, with what to try.
"""

from collections.abc import Iterator

from longarena.findings.changes import assign, changes, command
from longarena.findings.scores import BASELINE
from longarena.records.choice import ChoiceRecord, Entrant, Tested

# ratios nearer to 1 than this are not worth a word
SAME_SPEED, SAME_MEMORY = 1.05, 1.25
ALIKE = {"accuracy": ("as accurate as", "more accurate than", "the most accurate")}
PLAIN = ("as good as", "better than", "the best")


def sentence(record: ChoiceRecord) -> str:
    """Say which mechanism to take, and why."""
    taken = record.find(record.taken)
    if taken is None or taken.tested is None:
        level = record.metric.write_with_unit(record.level)
        return (
            f"take none yet: no mechanism is better than an answer without a model ({level}) "
            "beyond error; give it more --minutes, or more data"
        )
    parts = [_score(record, taken, taken.tested), *_cost(record, taken)]
    return f"take {title(taken)}: {', '.join(parts)}{_later(record, taken)}"


def _score(record: ChoiceRecord, taken: Entrant, tested: Tested) -> str:
    """Say how good it is beside the yardstick, the best, or the others."""
    alike, better, best_of_all = ALIKE.get(record.metric.name, PLAIN)
    best, yard = _best(record), yardstick(record)
    others = [each for each in record.finalists if each is not taken]
    if taken is yard or yard is None or tested.to_yardstick is None or yard.tested is None:
        tied = [each for each in others if each.tested and each.tested.to_best.is_tie]
        if not tied:
            return f"{best_of_all} beyond error"
        names = " and ".join(_the(each) for each in tied)
        return f"{alike} {names} within error, and faster"
    if tested.to_yardstick.is_tie:
        found = f"{alike} {_the(yard)} within error"
    elif record.metric.is_better(tested.value, yard.tested.value):
        write = record.metric.write_with_unit
        found = f"{better} {_the(yard)} ({write(tested.value)} against {write(yard.tested.value)})"
    else:
        return f"{alike} {_the(best)} within error"
    return found if best in (taken, yard) else f"{found} and {alike} the best, {title(best)}"


def _cost(record: ChoiceRecord, taken: Entrant) -> Iterator[str]:
    """Say what it costs beside the yardstick, and at which length."""
    at = f"at your {record.length:,} tokens"
    yard = yardstick(record)
    if yard is None or yard is taken:
        return
    speed, memory = speed_ratio(record, taken), memory_ratio(record, taken)
    if speed is not None:
        yield f"{times(speed)} {at}"
    if memory is not None and not 1 / SAME_MEMORY < memory < SAME_MEMORY:
        yield f"with {memory:.2g} times the memory"


def times(ratio: float) -> str:
    """Write a ratio of speeds.

    >>> times(3.14), times(0.5), times(1.02)
    ('3.1 times as fast', '2.0 times as slow', 'as fast')
    """
    if 1 / SAME_SPEED < ratio < SAME_SPEED:
        return "as fast"
    return f"{ratio:.1f} times as fast" if ratio > 1 else f"{1 / ratio:.1f} times as slow"


def _later(record: ChoiceRecord, taken: Entrant) -> str:
    """Say what more time may change."""
    rising = [
        each
        for each in in_order(record)
        if each.tested and each.tested.still_rises and each.tested.to_best.is_tie
    ]
    if taken in rising:
        return "; its score still rose, so train it longer"
    return f"; with more time try {title(rising[0])}, whose score still rose" if rising else ""


def title(entrant: Entrant) -> str:
    """Name a mechanism, with its options if it has any."""
    options = entrant.mixer.removeprefix(entrant.name).strip("[]")
    return f"{entrant.card.title} ({options})" if options else entrant.card.title


def _the(entrant: Entrant) -> str:
    return f"the {title(entrant)}" if entrant.mixer == BASELINE else title(entrant)


def _best(record: ChoiceRecord) -> Entrant:
    return in_order(record)[0]


def in_order(record: ChoiceRecord) -> list[Entrant]:
    """Order the entrants: the tested by their score, then by how far they came, then the rest."""
    sign = -1 if record.metric.better == "more" else 1

    def place(each: Entrant) -> tuple[bool, int, bool, float]:
        last = each.tested.value if each.tested else each.scores[-1] if each.scores else None
        return each.tested is None, -len(each.scores), last is None, sign * (last or 0.0)

    return sorted(record.entrants, key=place)


def yardstick(record: ChoiceRecord) -> Entrant | None:
    """Return the Transformer, if it was trained to the end."""
    found = record.find(BASELINE)
    return found if found and found.tested else None


def speed_ratio(record: ChoiceRecord, entrant: Entrant) -> float | None:
    """Return how many times as fast as the Transformer an entrant takes a training step."""
    base = record.find(BASELINE)
    if base is None or base.seconds_per_step is None or entrant.seconds_per_step is None:
        return None
    return base.seconds_per_step / entrant.seconds_per_step


def memory_ratio(record: ChoiceRecord, entrant: Entrant) -> float | None:
    """Return how many times the memory of the Transformer a training step of an entrant takes."""
    base = record.find(BASELINE)
    if base is None or not base.peak_bytes or entrant.peak_bytes is None:
        return None
    return entrant.peak_bytes / base.peak_bytes


def conditions(record: ChoiceRecord) -> str:
    """Say under which conditions a choice was made."""
    entered = sum(each.fate != "left out" for each in record.entrants)
    return (
        f"{entered} mechanisms compared, {record.minutes:g} minutes given, three rates each, "
        f"{record.steps:,} steps for the finalists; one seed, {record.test_examples:,} test "
        f"examples; without a model {record.metric.write_with_unit(record.level)}"
    )


def train_command(record: ChoiceRecord) -> str | None:
    """Write the command that trains what was taken fully; None if nothing was."""
    return command(record.recipe) if record.recipe else None


def python_lines(record: ChoiceRecord) -> list[str]:
    """Write the lines of Python that do the same; nothing if nothing was taken."""
    recipe = record.recipe
    found = changes(recipe) if recipe else None
    if recipe is None or found is None or found.removed:
        return []
    sets = [assign(key, value) for key, value in found.changed.items()]
    names = f'"{recipe.task.name}", "{recipe.model.mixer}", "{recipe.preset}"'
    return [
        "import longarena",
        f"recipe = longarena.preset({names}, seed={recipe.seed})",
        *([f"recipe = longarena.override(recipe, {sets})"] if sets else []),
        "record = longarena.train(recipe)",
        "print(record.outcome)",
    ]
