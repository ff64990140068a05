"""own: each mechanism under the recipe that its own authors published for a task.

`small` and `paper` give all mechanisms a common recipe. Here sizes, steps and rates are those that
somebody tuned for one mechanism, so results show what it can reach, not which one is better at
equal cost. Each file here is one mechanism: a table of its recipes, and the source of every value.
To add one, write such a file and enter it in `RECIPES`.

A recipe is here only if its values could be read in the code of its authors. So there is none for
`lru`, whose paper prints a table that no code repeats, and none for the mechanisms of the arena's
release: its authors wrote those files (`paper`), not the authors of the mechanisms.

Where the files here say nothing else, this project differs from all of its sources in this:

Choice: the encoder norms before the mixer, and once more at its end. The files name the tasks on
        which their authors norm after the mixer.
Choice: masked-mean pooling; a pixel is a number from -1 to 1 where theirs is standardised; the
        tasks have their own lengths (Text 4,096 bytes, Retrieval 4,000).
Choice: dropout is on the tokens that enter the encoder and on what the mixer returns; theirs is
        inside of the mixer too, and some of it drops whole channels.
Choice: a run makes the updates that theirs make. Epochs are counted in whole batches of their
        training data: for Text 25,000 reviews, of which we train on 22,500.
Choice: validation after every epoch; the parameters that did best are tested.
"""

from longarena.recipes.presets.own import (
    lite_transformer,
    long_conv,
    luna,
    mega,
    nystrom,
    s4d,
    s5,
)
from longarena.recipes.presets.own.published import Published
from longarena.recipes.recipe import Recipe

# by mechanism, then by task
RECIPES: dict[str, dict[str, Published]] = {
    "s4d": s4d.RECIPES,
    "s5": s5.RECIPES,
    "long-conv": long_conv.RECIPES,
    "mega": mega.RECIPES,
    "nystrom": nystrom.RECIPES,
    "luna": luna.RECIPES,
    "lite-transformer": lite_transformer.RECIPES,
}


def own(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train each mechanism as its own authors did, in full: for GPUs, and not to compare."""
    published = RECIPES.get(mixer, {}).get(task)
    return published.recipe(task, mixer, seed) if published else None
