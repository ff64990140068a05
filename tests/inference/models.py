"""Small trained runs that the tests of exported models share."""

from pathlib import Path

import pytest
from tasks.own_data import reviews, write_csv
from training.runs import SMALL, small_recipe

from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.training.folder import RunFolder
from longarena.training.loop import train

OWN = [change for change in SMALL if "length" not in change and "size=0" not in change]


def own_recipe(path, *changes, **options):
    """A small recipe on data of the user's."""
    return override(preset(str(path), "linear", options=options), [*OWN, *changes, "steps=4"])


def trained(folder, recipe):
    """Train a recipe under a folder, whose `home` has the data; return the folder of the run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGARENA_HOME", str(folder / "home"))
        made = recipe() if callable(recipe) else recipe
        train(made, folder / "runs")
        return RunFolder.of(folder / "runs", made)


def listops_run(folder):
    return trained(folder, small_recipe("performer", "steps=4", "evaluate_every=2"))


def pairs_run(folder):
    """Pairs of texts, as byte pairs."""
    rows = [(text, f"{label} {text[:9]}", label) for text, label in reviews()]
    path = write_csv(Path(folder) / "pairs.csv", rows, header=("question", "answer", "stars"))
    options = {"text": "question,answer", "label": "stars", "tokens": "bpe", "vocabulary": 300}
    return trained(folder, lambda: own_recipe(path, **options))
