"""The colours of the charts: one for every family of mechanisms, dashes for its members.

Choice: thirteen colours that can be seen on a white and on a dark page (contrast at least 3 on
        both), as far apart as that allows, also for eyes without red or green cones. Dashes, and
        the name at every line and dot, help where colours do not.
Choice: a mechanism of the user's own may have a colour of its own, which its card says; it then
        stands in the legend by its name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longarena.attention.cards import Family, MixerCard

COLOURS: Mapping[Family, str] = {
    "full attention": "#787887",
    "fixed patterns": "#3c69e1",
    "combination of patterns": "#1e96ff",
    "learnable patterns": "#c32d1e",
    "memory": "#d269c3",
    "low rank": "#b4870f",
    "kernels": "#00784b",
    "recurrence": "#874ba5",
    "state space": "#d2005a",
    "convolution": "#f06969",
    "gated recurrence": "#0f96b4",
    "no attention": "#785a78",
    "your own": "#3ca578",
}
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))


@dataclass(frozen=True)
class Hue:
    """An entry of the legend: a family, or a mechanism with a colour of its own."""

    name: str
    colour: str


def hue(card: MixerCard) -> Hue:
    """Return the colour of a mechanism, and what that stands for.

    >>> hue(MixerCard(family="kernels")).name, hue(MixerCard(title="Mine", colour="#123456")).name
    ('kernels', 'Mine')
    """
    return Hue(card.title, card.colour) if card.colour else Hue(card.family, COLOURS[card.family])


def legend(cards: Iterable[MixerCard]) -> dict[str, str]:
    """Return the colours of some mechanisms by what they stand for, the families in their order."""
    found = {each.name: each.colour for each in map(hue, cards)}
    return {name: found[name] for name in (*(f for f in COLOURS if f in found), *found)}


def dashes(cards: Mapping[str, MixerCard]) -> dict[str, tuple[int, ...]]:
    """Give mechanisms of one colour different dashes.

    >>> kernel, memory = MixerCard(family="kernels"), MixerCard(family="memory")
    >>> dashes({"a": kernel, "b": memory, "c": kernel})
    {'a': (1, 0), 'b': (1, 0), 'c': (6, 3)}
    """
    members: dict[Hue, int] = {}
    chosen: dict[str, tuple[int, ...]] = {}
    for name, card in cards.items():
        chosen[name] = DASHES[members.get(hue(card), 0) % len(DASHES)]
        members[hue(card)] = members.get(hue(card), 0) + 1
    return chosen
