"""Text and Retrieval in other tokens than bytes: learned from the training split, kept, shown."""

import json
import re

import numpy as np
import pytest
from tasks.sources import AAN, aan, imdb, write_tar

from longarena.data.files import write_atomically
from longarena.data.tokens import read_tokeniser
from longarena.errors import UserError
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.tasks import build
from longarena.tasks.base import default_home
from longarena.tasks.prepare import open_prepared, prepare
from longarena.tasks.token_card import token_card

LEARNED = [
    {"tokens": "bpe", "vocabulary": 300},
    {"tokens": "words", "vocabulary": 300},
]
SOURCES = {"text": imdb, "retrieval": aan}


def read(folder, name="text", members=None, **options):
    task = build(name, options)
    source = write_tar(folder / f"{name}.tar.gz", members or SOURCES[name]())
    data = prepare(task, default_home(), source)
    return task.named(data.facts["data"]), data


def test_bytes_leave_data_folders_and_ids_as_they_were(tmp_path):
    task, data = read(tmp_path)
    assert data.fingerprint == "883a6b08c718f87e"
    assert task.folder(default_home()).name == "v1,text"
    assert data.attached == []
    assert preset("text", "performer", "small").id == "96d4490ca3"


def test_data_from_before_tokens_could_be_chosen_is_opened(tmp_path):
    task, data = read(tmp_path)
    about = data.folder / "dataset.json"
    values = json.loads(about.read_text())
    for name in ("tokens", "vocabulary"):
        del values["facts"]["options"][name]
    write_atomically(about, json.dumps(values))
    assert open_prepared(task, default_home()).fingerprint == data.fingerprint
    (data.folder).rename(data.folder.with_name("v1,text,tokens=words"))
    with pytest.raises(UserError, match="holds other data"):
        open_prepared(task.changed(tokens="words"), default_home())


@pytest.mark.parametrize("options", LEARNED)
@pytest.mark.parametrize("name", SOURCES)
def test_texts_are_shorter_in_tokens_and_told_by_the_tokeniser_beside_them(tmp_path, name, options):
    _, plain = read(tmp_path, name)
    task, data = read(tmp_path, name, **options)
    kept = read_tokeniser((data.folder / "tokeniser.json").read_text())
    assert kept == task.tokeniser()
    assert kept.num_tokens <= options["vocabulary"] < task.signature.vocab_size
    for split in ("train", "valid", "test"):
        ours, theirs = data.split(split), plain.split(split)
        assert ours.labels.tolist() == theirs.labels.tolist()
        assert ours.num_tokens.sum() < theirs.num_tokens.sum()
        for example in range(len(ours)):
            for which in range(ours.num_sequences):
                text = theirs.sequence(example, which).tobytes().decode()
                assert ours.sequence(example, which).tolist() == kept.encode(text)


@pytest.mark.parametrize("options", LEARNED)
def test_the_vocabulary_is_that_of_the_training_split_alone(tmp_path, options):
    members = imdb(train=40)
    plain = read(tmp_path, members=members)[1]
    valid = {plain.split("valid").sequence(i).tobytes() for i in range(plain.sizes["valid"])}
    train = {plain.split("train").sequence(i).tobytes() for i in range(plain.sizes["train"])}
    odd = " zqxzqx" * 30
    changed = {
        name: text + odd.encode() if "/test/" in name or text in valid else text
        for name, text in members.items()
    }
    assert not valid & train
    folder = tmp_path / "odd"
    folder.mkdir()
    task, data = read(folder, members=changed, max_length=20_000, **options)
    assert b"zqxzqx" in b"".join(changed.values())
    assert "zqx" not in (data.folder / "tokeniser.json").read_text()
    other = folder / "plain"
    other.mkdir()
    assert (
        task.tokeniser() == read(other, members=members, max_length=9000, **options)[0].tokeniser()
    )


def test_words_are_the_most_frequent_and_each_paper_counts_once(tmp_path):
    # the first paper is in every pair, the others are in one
    often = "common " * 5
    rows = [f"{i % 2}\tA\tB{i}\t{often}\tword{i} rare rare rare" for i in range(400)]
    members = {
        f"{AAN}.{split}.tsv": "\n".join(rows).encode() for split in ("train", "eval", "test")
    }
    task, _ = read(tmp_path, "retrieval", members, tokens="words", vocabulary=300)
    words = task.tokeniser().words
    assert words[:2] == ("rare", "common")
    assert len(words) == 299
    assert words[2:] == tuple(sorted(f"word{i}" for i in range(400))[:297])


def test_the_greatest_length_is_in_tokens_and_what_was_cut_is_counted(tmp_path):
    task, data = read(tmp_path, tokens="words", max_length=12)
    found = {split: data.split(split) for split in data.sizes}
    assert max(split.lengths.max() for split in found.values()) == 12
    lengths = [len(re.findall(r"\w+|[^\w\s]", t.decode())) for t in reviews_of("train")]
    cut = data.facts["cut"]
    assert cut["train"] + cut["valid"] == sum(length > 12 for length in lengths)
    # how much is read does not change what a token is
    folder = tmp_path / "whole"
    folder.mkdir()
    assert read(folder, tokens="words", max_length=900)[0].tokeniser() == task.tokeniser()


def reviews_of(split):
    return [t for name, t in imdb().items() if f"/{split}/" in name and "unsup" not in name]


def test_a_card_states_lengths_and_what_is_unknown(tmp_path):
    task, data = read(tmp_path, tokens="words", vocabulary=300)
    card = token_card(task, data)
    lengths = np.diff(data.split("train").offsets)
    assert card.lengths["train"]["most"] == lengths.max()
    assert card.means["train"] == pytest.approx(lengths.mean())
    assert card.unknown["train"] == 0 < card.unknown["test"]
    assert "unknown words" in card.facts()
    plain, bytes_ = read(tmp_path)
    assert token_card(plain, bytes_).unknown is None
    assert token_card(plain, bytes_).vocabulary == 256


def test_an_example_is_written_as_text(tmp_path):
    task, data = read(tmp_path, tokens="bpe")
    assert "<br />café" in task.show(data.split("test"), 0)


@pytest.mark.parametrize("name", SOURCES)
def test_a_vocabulary_of_bytes_is_refused(name):
    with pytest.raises(UserError, match="bytes have no vocabulary"):
        build(name, {"vocabulary": 1000})
    with pytest.raises(UserError, match="greater than or equal to 300"):
        build(name, {"tokens": "bpe", "vocabulary": 100})


def test_a_recipe_in_other_tokens_is_another_run():
    recipe = preset("text", "linear", "cpu")
    other = override(recipe, ["task.tokens=bpe", "task.vocabulary=2000"])
    assert other.id != recipe.id
    assert build("text", other.task.options).variant == "max_length=256,tokens=bpe,vocabulary=2000"
