"""Translation of Multi30k under Mult-Adds, with the `cpu` preset: about 25 minutes a run on a core.

The Transformer and the Lite Transformer at three sizes each, the middle one with a second seed; at
the middle size also what becomes of the Lite Transformer without its parts, and three other
mechanisms. A width of the Lite Transformer is a quarter larger, which with its flat feed-forward
costs about as many Mult-Adds.

Choice: beyond a width of 128 the rate falls as the width grows. With the preset's rate of 0.006 a
        Transformer of width 192 stayed below a BLEU of 9 for 600 steps; one of 128 had 20 by then,
        and at the end of a short training as much as with half the rate; one of 64 had more.
"""

from longarena import Recipe, override, preset

WIDTHS = {"transformer": (64, 128, 192), "lite-transformer": (80, 160, 240)}
MIDDLE = 1
# a wider model takes a lower rate
FULL_RATE_TO = 128
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
    rate = recipe.optimiser.rate * min(1.0, FULL_RATE_TO / width)
    size = [f"model.width={width}", f"model.mlp_width={2 * width}"]
    return override(recipe, [*size, f"optimiser.rate={rate:.3g}"])
