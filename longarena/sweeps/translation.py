"""Translation of Multi30k under Mult-Adds, with the `cpu` preset: 10 to 30 minutes a run on a core.

The Transformer and the Lite Transformer at three sizes each, the middle one with a second seed; at
the middle size also what becomes of the Lite Transformer without its parts, and three other
mechanisms. A width of the Lite Transformer is a quarter larger, which with its flat feed-forward
costs about as many Mult-Adds; the rate goes with the width.
"""

from longarena import Recipe, override, preset
from longarena.recipes.presets.sentences import rate_at

WIDTHS = {"transformer": (64, 128, 192), "lite-transformer": (80, 160, 240)}
MIDDLE = 1
# a feed-forward as in the Transformer; dynamic kernels; a convolution without its gate
PARTS = ("flat=false", "dynamic=true", "glu=false")
OTHERS = ("linear", "local", "fnet")


def recipes() -> list[Recipe]:
    sizes = [
        sized(mixer, width, seed)
        for mixer, widths in WIDTHS.items()
        for number, width in enumerate(widths)
        for seed in range(2 if number == MIDDLE else 1)
    ]
    lite = sized("lite-transformer", WIDTHS["lite-transformer"][MIDDLE])
    parts = [override(lite, [f"model.{part}"]) for part in PARTS]
    others = [sized(mixer, WIDTHS["transformer"][MIDDLE]) for mixer in OTHERS]
    return [*sizes, *parts, *others]


def sized(mixer: str, width: int, seed: int = 0) -> Recipe:
    recipe = preset("multi30k", mixer, "cpu", seed)
    size = [f"model.width={width}", f"model.mlp_width={2 * width}"]
    return override(recipe, [*size, f"optimiser.rate={rate_at(width)}"])
