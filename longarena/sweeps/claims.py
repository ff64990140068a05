"""What the papers claim about their own parts, a line per run, with the `cpu` preset.

Every line changes one thing in a mechanism; the line without a change is what it is compared with.
The tables of Longformer and Poolingformer, whose parts are many and alike, have three seeds.

Image, whose 256 pixels no default window of the preset spans, is asked of all. Longformer's own
table is one of characters, so its windows are asked on enwik8 as well, in half of the steps.

Paper:  Beltagy et al. (2020), https://arxiv.org/abs/2004.05150, table 4: windows that grow, and
        two dilated heads, in the upper layers
"""

from longarena import Recipe, override, preset
from longarena.sweeps.cpu import in_steps

CLAIMS = {
    # windows that grow with depth beat windows of the same total width that do not, and some
    # dilated heads help
    "longformer": ["", "window={growing}", "window={shrinking}", "dilation=[1, 2]"],
    "local": ["block=32", "block={growing}", "block={shrinking}"],
    # a small k is enough, and the error falls with it
    "linformer": ["k=4", "k=16", "", "k=64"],
    # more random features come nearer to the softmax
    "performer": ["features=16", "features=64", "", "features=256"],
    # between attention and convolution, a feed-forward as narrow as the model is enough
    "lite-transformer": ["", "flat=false"],
    # pooling by predicted weights beats mean and max; the second level reads the first one's
    # output and has weights of its own; it pays in some layers, and wider windows pay
    "poolingformer": [
        "",
        "pool=mean",
        "pool=max",
        "mix=true",
        "share_weights=true",
        "layers=0",
        "layers={depth}",
        "window_1=8",
        "window_1=64",
        "window_2=64",
        "window_2=256",
    ],
    # the mechanism that the others approximate
    "transformer": [""],
}
OF_CHARACTERS = ["", "window={growing}", "window={shrinking}", "dilation=[1, [1, 1, 2, 2]]"]
# the preset's window of Longformer
WINDOWS = {"image": 32, "enwik8": 64}
SEEDS = {"longformer": 3, "poolingformer": 3}


def recipes() -> list[Recipe]:
    of_images = [
        variant(preset("image", mixer, "cpu", seed), change)
        for seed in range(max(SEEDS.values()))
        for mixer, changes in CLAIMS.items()
        if seed < SEEDS.get(mixer, 1)
        for change in changes
    ]
    of_characters = [
        variant(in_steps(preset("enwik8", "longformer", "cpu", seed), 1 / 2), change)
        for seed in range(SEEDS["longformer"])
        for change in OF_CHARACTERS
    ]
    return of_images + of_characters


def variant(recipe: Recipe, change: str) -> Recipe:
    depth, window = recipe.model.depth, WINDOWS[recipe.task.name]
    # on average as wide as the preset's, in even steps from the first layer to the last
    growing = [round(window * (2 * layer + 1) / depth) for layer in range(depth)]
    filled = change.format(depth=depth, growing=growing, shrinking=growing[::-1])
    return override(recipe, [f"model.{filled}"] if change else [])
