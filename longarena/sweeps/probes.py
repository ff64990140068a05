"""Every causal mechanism on the four probes, and some on recall with fewer and more pairs.

Three seeds of each probe with the `cpu` preset come first; then one seed of recall with other
numbers of pairs, for the chart of recall over pairs: ten mechanisms of seven families.
"""

from longarena import Recipe, override, preset
from longarena.attention import CARDS

PROBES = ("recall", "selective-copy", "induction", "passkey")
PAIRS = (2, 4, 16)
OVER_PAIRS = (
    "transformer",
    "sparse",
    "bigbird",
    "linear",
    "convolution",
    "s4d",
    "retention",
    "gla",
    "mamba2",
    "gated-deltanet",
)
CAUSAL = [name for name, card in CARDS.items() if card.causal]


def recipes() -> list[Recipe]:
    probes = [
        preset(task, mixer, "cpu", seed) for seed in range(3) for task in PROBES for mixer in CAUSAL
    ]
    pairs = [
        override(preset("recall", mixer, "cpu"), [f"task.pairs={number}"])
        for number in PAIRS
        for mixer in OVER_PAIRS
    ]
    return probes + pairs
