"""From the name of a mechanism to its class, which is imported when it is asked for."""

import importlib
from collections.abc import Iterator, Mapping

from longarena.attention.base import Mixer
from longarena.attention.cards import CARDS, MixerCard, OwnMixer
from longarena.loading import load_class, source_digest


class _Mixers(Mapping[str, type[Mixer]]):
    """The classes of the mechanisms under the names of their cards."""

    def __getitem__(self, name: str) -> type[Mixer]:
        module, _, kind = CARDS[name].at.partition(":")
        found: type[Mixer] = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(CARDS)

    def __len__(self) -> int:
        return len(CARDS)


MIXERS: Mapping[str, type[Mixer]] = _Mixers()


def find(name: str) -> type[Mixer]:
    """Find a mixer by its name in the table, or a user's own by `module:Class`."""
    if name in CARDS:
        return MIXERS[name]
    return load_class("mixer", name, Mixer, CARDS)  # type: ignore[type-abstract]


def note_own(name: str) -> OwnMixer | None:
    """Note source and card of a user's own mixer; None for one of the table."""
    if name in CARDS:
        return None
    kind = find(name)
    # a title that is inherited or taken would name another
    taken = {MixerCard().title, *(card.title for card in CARDS.values())}
    has_title = "card" in vars(kind) and kind.card.title not in taken
    title = kind.card.title if has_title else name
    card = kind.card.model_copy(update={"name": name, "title": title})
    return OwnMixer(source=source_digest(kind), card=card)
