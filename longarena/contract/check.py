"""Try every promise on one mixer, and say of each whether it is kept, and if not why.

Choice: what cannot be built or called is not tried any further. A mixer that does not claim to be
        causal is not tried for it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from longarena.attention import Mixer, build, find
from longarena.contract import promises
from longarena.contract.fake_device import check_device
from longarena.contract.growth import check_growth, check_largest
from longarena.contract.promises import HEADS, MAX_LENGTH, WIDTH, Broken, Make
from longarena.errors import UserError

State = Literal["kept", "broken", "not tried"]
NOT_CAUSAL = "its card does not say that it can be causal"
LESS_THAN_ALL = 2.0


@dataclass(frozen=True)
class Outcome:
    """What became of one promise."""

    promise: str
    state: State
    reason: str = ""


FIRST = "any length from 1 on, in its own shape"
ALWAYS: Mapping[str, promises.Promise] = {
    "a longer sequence is refused": promises.too_long_is_refused,
    "a row of padding alone is finite": promises.padding_alone_is_finite,
    "a row of padding changes no other": promises.padding_alone_changes_no_other_row,
    "padding is never seen": promises.padding_never_leaks,
    "more padding changes nothing": promises.appended_padding_changes_nothing,
    "alone as in a batch": promises.a_row_stands_alone,
    "every parameter is trained": promises.parameters_are_trained,
    "saved and loaded": promises.saved_and_loaded_is_the_same,
    "the same seed, the same answer": promises.the_same_seed_gives_the_same,
    "another seed, another answer": promises.another_seed_gives_another,
    "fixed in evaluation": promises.evaluation_is_fixed,
}
CAUSAL: Mapping[str, promises.Promise] = {
    "causal: no later token is seen": promises.later_changes_nothing_earlier,
    "causal: stepping as in parallel": promises.stepping_gives_the_whole,
    "causal: carries what it says": promises.carries_what_it_says,
}
DEVICE, GROWTH, LARGEST = "everything on its device", "operations as claimed", "no N x N tensor"
PROMISES = (FIRST, *ALWAYS, *CAUSAL, DEVICE, GROWTH, LARGEST)


def check(name: str, options: Mapping[str, object] | None = None) -> Iterator[Outcome]:
    """Try all promises on the mixer of this name, one after another."""
    kind, given = find(name), dict(options or {})
    make = _maker(name, given)
    first = _try(FIRST, partial(promises.any_length_is_answered, make))
    yield first
    rest: dict[str, Callable[[], str | None]] = {
        title: partial(_call, promise, make) for title, promise in ALWAYS.items()
    }
    rest |= {title: partial(_call, promise, make) for title, promise in CAUSAL.items()}
    rest[DEVICE] = partial(_on_device, kind, name, given)
    rest[GROWTH] = partial(check_growth, name, kind.card, given)
    rest[LARGEST] = partial(_call, lambda _: check_largest(name, given), make)
    for title, run in rest.items():
        why = _why_not(title, kind, first)
        yield Outcome(title, "not tried", why) if why else _try(title, run)


def _why_not(title: str, kind: type[Mixer], first: Outcome) -> str:
    """Say why a promise is not tried; empty if it is."""
    if first.state == "broken" and "not finite" not in first.reason:
        return "it gives no answer"
    if title in CAUSAL and not kind.card.causal:
        return NOT_CAUSAL
    if title == LARGEST and kind.card.exponent >= LESS_THAN_ALL:
        return "its card claims no less than N^2"
    return ""


def _call(promise: promises.Promise, make: Make) -> None:
    torch.manual_seed(0)
    promise(make)


def _on_device(kind: type[Mixer], name: str, options: Mapping[str, object]) -> None:
    check_device(name, options)
    if kind.card.causal:
        check_device(name, options, causal=True)


def _maker(name: str, options: Mapping[str, object]) -> Make:
    """Return what builds the mixer, in float64 if it can compute with that."""

    def make(*, causal: bool = False, seed: int = 0, max_length: int = MAX_LENGTH) -> Mixer:
        mixer = build(
            name,
            width=WIDTH,
            num_heads=HEADS,
            max_length=max_length,
            options=options,
            causal=causal,
            seed=seed,
        )
        return mixer.to(kind).eval()

    kind = torch.float64
    try:
        mixer = make()
        mixer(*promises.inputs(mixer, 4))
    except UserError:
        kind = torch.float32
    return make


def _try(title: str, run: Callable[[], str | None]) -> Outcome:
    try:
        said = run()
    except (Broken, UserError) as error:
        return Outcome(title, "broken", str(error))
    except Exception as error:
        # whatever the user's code raises is an answer
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Outcome(title, "broken", said)
    return Outcome(title, "kept", said or "")
