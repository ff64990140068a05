"""The colours of the charts: one for every family of mechanisms, dashes for its members.

Choice: thirteen colours that can be seen on a white and on a dark page (contrast at least 3 on
        both), as far apart as that allows, also for eyes without red or green cones. Dashes, and
        the name at every line and dot, help where colours do not.
"""

from collections.abc import Mapping

from longarena.attention import Family

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


def dashes(families: Mapping[str, Family]) -> dict[str, tuple[int, ...]]:
    """Give the members of every family different dashes.

    >>> dashes({"a": "kernels", "b": "memory", "c": "kernels"})
    {'a': (1, 0), 'b': (1, 0), 'c': (6, 3)}
    """
    members: dict[Family, int] = {}
    chosen: dict[str, tuple[int, ...]] = {}
    for name, family in families.items():
        chosen[name] = DASHES[members.get(family, 0) % len(DASHES)]
        members[family] = members.get(family, 0) + 1
    return chosen
