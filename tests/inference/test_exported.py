"""An exported model gives the answers of its run, without the training code; damage is one line."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from inference.models import listops_run, pairs_run, trained
from test_architecture import LAYERS
from training.runs import small_recipe

import longarena
from longarena.data.tensors import load_tensors, save_tensors
from longarena.errors import UserError
from longarena.inference.exported import Exported
from longarena.inference.predictions import predict
from longarena.recipes.recipe import build_task, note_source
from longarena.tasks.base import default_home
from longarena.tasks.expressions import TOKENS
from longarena.tasks.prepare import open_prepared
from longarena.training.best import read_best
from longarena.training.export import exported, find_model

MINE = (Path(__file__).parents[1] / "attention/own_mixers.py").read_text()
BELOW = [name for names in LAYERS[LAYERS.index(["inference"]) + 1 :] for name in names]


@pytest.fixture(scope="module")
def listops(tmp_path_factory):
    """A run of ListOps, and its home."""
    folder = tmp_path_factory.mktemp("listops")
    return listops_run(folder), folder / "home"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A run on pairs of texts of the user's, and its home."""
    folder = tmp_path_factory.mktemp("pairs")
    return pairs_run(folder), folder / "home"


@pytest.fixture
def folder(listops, tmp_path, monkeypatch):
    """The exported model of the ListOps run."""
    run, home = listops
    monkeypatch.setenv("LONGARENA_HOME", str(home))
    exported(run).write(tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_model_has_the_weights_that_were_tested_and_gives_its_answers(listops, folder):
    run, _ = listops
    model = longarena.load(folder)
    best, weights = read_best(run).tensors, model.model.state_dict()
    assert not model.training
    assert best.keys() == weights.keys()
    assert all(torch.equal(weights[key], best[key]) for key in best)
    record = run.read_record()
    test = open_prepared(build_task(record.recipe), default_home()).split("test")
    texts = [" ".join(TOKENS[token] for token in test.sequence(i)) for i in range(len(test))]
    found = model.predict(texts)
    assert [int(each.label) for each in found] == run.read_answers(record).answers.tolist()
    for each in found:
        assert sum(each.probabilities) == pytest.approx(1, abs=1e-5)
        assert each.probability == max(each.probabilities)
    assert model.config.test.value == record.metrics.test.value
    assert model.config.trained_on.fingerprint == record.fingerprint


def test_ids_and_mask_give_logits_and_the_backbone_gives_tokens(folder):
    model = longarena.load(folder, device="cpu")
    ids = torch.randint(1, 16, (2, 40))
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[1, 20:] = False
    logits = model(ids, mask)
    assert logits.shape == (2, 10)
    torch.testing.assert_close(logits[1:], model(ids[1:, :20]))
    assert not torch.allclose(logits[1:], model(ids[1:]))
    tokens, real = model.backbone(ids)
    assert tokens.shape == (2, 40, 16)
    assert real.all()
    rows = [(each.numpy().astype("uint8"),) for each in ids - 1]
    assert model.predict_tokens(rows) == predict(model.model, rows, model.classes)


def test_a_pair_of_texts_needs_neither_the_run_nor_the_data(pairs, tmp_path, monkeypatch):
    run, home = pairs
    monkeypatch.setenv("LONGARENA_HOME", str(home))
    direct = find_model(run.path.parents[2], run.path.name)
    exported(run).write(tmp_path / "model")
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path / "nowhere"))
    model = longarena.load(tmp_path / "model")
    assert model.classes == ("bad", "good")
    examples = [("is it good?", "café " * 30), ("a", "b")]
    assert model.predict(examples) == direct.predict(examples)
    assert model.config.raw_input.columns == ("question", "answer")
    assert model.encode(examples[0])[0].max() > 255  # byte pairs, not bytes


def test_loading_imports_nothing_of_the_training(folder):
    code = (
        "import sys, longarena\n"
        f"model = longarena.load({str(folder)!r})\n"
        "print(model.predict(['[MAX 2 9 ]'])[0].label)\n"
        f"below = {BELOW!r}\n"
        "parts = {name.split('.')[1] for name in sys.modules if name.startswith('longarena.')}\n"
        "assert 'inference' in parts and not parts & set(below), parts & set(below)\n"
        "assert not {'lightning_fabric', 'ray', 'altair', 'typer'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().isdigit()


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def other_weights(folder):
    """Put whole weights there, but those of another model."""
    path = folder / "model.safetensors"
    found = load_tensors(path)
    save_tensors(path, {key: 2 * value for key, value in found.tensors.items()}, found.about)


def model(folder, **changes):
    found = json.loads((folder / "config.json").read_text())
    edit(folder, model=found["model"] | changes)


DAMAGES = {
    "has no config.json": lambda folder: (folder / "config.json").unlink(),
    "config.json is damaged": lambda folder: (folder / "config.json").write_text('{"kind": '),
    "not of a model that longarena exported": lambda folder: edit(folder, kind="bert"),
    "has the format 2, and this longarena reads 1": lambda folder: edit(folder, format=2),
    "unknown option": lambda folder: edit(folder, other=1),
    "model.safetensors is missing": lambda folder: (folder / "model.safetensors").unlink(),
    "its digest does not match": lambda folder: flip(folder / "model.safetensors"),
    "does not belong to the config.json": other_weights,
    "model.safetensors is damaged": lambda folder: (folder / "model.safetensors").write_bytes(b"x"),
    "are not of its config (it does not fit": lambda folder: model(folder, width=32),
    "tensors for 1,000,000,000 layers": lambda folder: model(folder, depth=10**9),
    "model: width 7 is not": lambda folder: model(folder, width=7),
    "would import os:system": lambda folder: model(folder, mixer="os:system"),
}


@pytest.mark.parametrize("said", DAMAGES)
def test_whatever_is_wrong_with_a_folder_is_one_line(folder, said):
    DAMAGES[said](folder)
    with pytest.raises(UserError) as refused:
        longarena.load(folder)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_changed_tokeniser_is_noticed(pairs, tmp_path, monkeypatch):
    run, home = pairs
    monkeypatch.setenv("LONGARENA_HOME", str(home))
    exported(run).write(tmp_path)
    path = tmp_path / "tokeniser.json"
    path.write_text(path.read_text().replace("merges", "Merges"))
    with pytest.raises(UserError, match=r"tokeniser.json does not belong"):
        longarena.load(tmp_path)
    path.unlink()
    with pytest.raises(UserError, match=r"tokeniser.json cannot be read"):
        longarena.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "is not a folder"),
        ("", "is a run, not an exported model; run: longarena export"),
    ],
)
def test_what_is_no_exported_model_says_how_to_make_one(listops, name, said):
    with pytest.raises(UserError, match=said):
        longarena.load(listops[0].path / name)


def test_a_mixer_from_outside_is_imported_only_where_the_folder_is_trusted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    run = trained(tmp_path, lambda: note_source(small_recipe("mine:Mean", "steps=2")))
    exported(run).write(tmp_path / "model")
    del sys.modules["mine"]
    with pytest.raises(UserError, match="would import mine:Mean"):
        longarena.load("model")
    assert "mine" not in sys.modules
    assert longarena.load("model", trust=True).predict(["[MAX 2 9 ]"])
    del sys.modules["mine"]
    Path("mine.py").write_text(MINE + "# edited\n")
    with pytest.raises(UserError, match="mine:Mean was edited since this model was trained"):
        longarena.load("model", trust=True)
    del sys.modules["mine"]


def test_a_model_is_written_again_but_never_over_another_one(folder):
    found = Exported.read(folder)
    found.write(folder)
    other = replace(found, config=found.config.model_copy(update={"run": "0123456789"}))
    with pytest.raises(UserError, match="holds the model of run"):
        other.write(folder)
    Path(folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(UserError, match="not of a model that longarena exported"):
        found.write(folder)


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ("[MAX 1 ]", "predict takes a list"),
        (["[MAX 1 ]", ""], "example 2: there is nothing to read"),
        (["[MUX 1 ]"], "example 1: it is not an expression of"),
        ([("[MAX 1 ]", "[MAX 1 ]")], "example 1: an example of this model is one sequence"),
        ([[1, 2]], "example 1: it is a list, and this model reads text"),
    ],
)
def test_what_cannot_be_read_is_one_line(folder, examples, said):
    with pytest.raises(UserError, match=said):
        longarena.load(folder).predict(examples)


def test_a_device_that_is_not_there_is_one_line(folder):
    with pytest.raises(UserError, match="'nonsense' cannot be used"):
        longarena.load(folder, "nonsense")
