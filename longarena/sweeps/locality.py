"""Which range does a task need, and what is the order of its tokens worth?

Five tasks with the `cpu` preset, one seed each; repeat it with another: --set seed=1

range    Convolutions, sliding windows and blocks that see ever more tokens, beside a Transformer,
         which sees all. No token is global, so what a token knows is bounded by its receptive field
         (`longarena/findings/receptive_field.py`).
order    The Transformer and one convolution on the same data with shuffled tokens
         (`longarena/data/shuffle.py`): all of them, or small and large blocks of them, or those
         inside the small ones. A large block is a quarter of the longest sequence.

Choice: windows of an even width w see as much as kernels of w + 1 tokens.
Choice: the generated tasks come first, which need no data from elsewhere.
"""

from longarena import Recipe, override
from longarena.sweeps.cpu import recipe

TASKS = ("listops", "pathfinder", "image", "text", "retrieval")
RANGES: dict[str, list[list[str]]] = {
    "transformer": [[]],
    "convolution": [[f"model.kernel={kernel}"] for kernel in (3, 7, 15, 31, 61)],
    "longformer": [[f"model.window={w}", "model.global_tokens=0"] for w in (2, 14, 60)],
    "local": [[f"model.block={block}"] for block in (4, 16, 64)],
}
SHUFFLES = ("all", "across-{small}", "across-{large}", "within-{small}")
# in tokens; a block as long as the sequence would change nothing
BLOCKS = {
    "listops": {"small": 4, "large": 16},
    "pathfinder": {"small": 8, "large": 64},
    "image": {"small": 8, "large": 64},
    "text": {"small": 8, "large": 64},
    "retrieval": {"small": 8, "large": 32},
}
SHUFFLED: dict[str, list[str]] = {"transformer": [], "convolution": ["model.kernel=31"]}


def recipes() -> list[Recipe]:
    ranges = [
        override(recipe(task, mixer, 0), changes)
        for task in TASKS
        for mixer, several in RANGES.items()
        for changes in several
    ]
    orders = [
        override(
            recipe(task, mixer, 0), [*changes, f"task.shuffle={shuffle.format(**BLOCKS[task])}"]
        )
        for task in TASKS
        for mixer, changes in SHUFFLED.items()
        for shuffle in SHUFFLES
    ]
    return ranges + orders
