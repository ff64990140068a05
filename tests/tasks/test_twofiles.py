"""Two files of the user's: named by their path, known by their names and what they hold."""

import pytest

from longarena.errors import UserError
from longarena.tasks import build, find
from longarena.tasks.base import SPLITS, default_home
from longarena.tasks.prepare import command, obtain, open_prepared, take_in
from longarena.tasks.textfile import TextFile
from longarena.tasks.twofiles import TwoFiles, drawn

NUMBER = 100
OPTIONS = {"vocabulary": 300}


def sentences(language, number=NUMBER):
    return [f"{language} sentence number {i}" for i in range(number)]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Two files in a folder beside the one in which commands are called."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write(tmp_path / "texts", "manual")
    return tmp_path / "texts" / "manual.de-en"


def write(folder, stem, number=NUMBER):
    for language in ("de", "en"):
        text = "".join(f"{line}\n" for line in sentences(language, number))
        (folder / f"{stem}.{language}").write_text(text)


def opened(path, options=OPTIONS):
    name, data = take_in(str(path), default_home())
    return obtain(build(name, options, data=data), default_home())


def test_a_path_is_a_task(corpus):
    name, digest = take_in("../texts/manual.de-en", default_home())
    assert name == "manual.de-en"
    task = build(name, OPTIONS, data=digest)
    assert (task.card.title, task.languages) == ("manual (de to en)", ("de", "en"))
    data = obtain(task, default_home())
    assert data.sizes == {"train": 90, "valid": 5, "test": 5}
    pairs = [
        pair
        for split in map(data.split, SPLITS)
        for pair in zip(split.sources, split.references, strict=True)
    ]
    assert sorted(pairs) == sorted(zip(sentences("de"), sentences("en"), strict=True))


def test_the_first_language_is_read(corpus):
    turned = opened(corpus.with_name("manual.en-de")).split("test")
    assert all(text.startswith("en") for text in turned.sources)
    assert all(text.startswith("de") for text in turned.references)


def test_every_variant_is_made_from_the_copy(corpus):
    name, digest = take_in(str(corpus), default_home())
    for language in ("de", "en"):
        corpus.with_suffix(f".{language}").unlink()
    first = obtain(build(name, OPTIONS, data=digest), default_home())
    second = obtain(build(name, {"tokens": "bytes"}, data=digest), default_home())
    assert first.split("valid").sources == second.split("valid").sources
    assert first.fingerprint != second.fingerprint


def test_another_content_is_other_data(corpus):
    first = take_in(str(corpus), default_home())
    path = corpus.with_suffix(".en")
    path.write_text(path.read_text().replace("number 7", "number seven"))
    second = take_in(str(corpus), default_home())
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_splits_beside_the_training_files_are_taken(corpus):
    write(corpus.parent, "train")
    write(corpus.parent, "dev", 7)
    assert opened(corpus.with_name("train.de-en")).sizes["valid"] == 5
    write(corpus.parent, "test", 3)
    data = opened(corpus.with_name("train.de-en"))
    assert data.sizes == {"train": 100, "valid": 7, "test": 3}
    assert data.split("test").references == sentences("en", 3)


def test_no_sentence_is_in_two_splits():
    pairs = [(f"source {i % 50}", f"target {i}") for i in range(200)]
    splits = drawn(pairs, "twice")
    sources = [{source for source, _ in splits[split]} for split in SPLITS]
    assert [len(each) for each in sources] == [46, 2, 2]
    assert not sources[0] & sources[1]
    assert not (sources[0] | sources[1]) & sources[2]
    assert sum(map(len, splits.values())) == 200


def test_a_pair_with_an_empty_side_is_never_tested():
    pairs = [(f"source {i}", f"target {i}") for i in range(60)]
    empty = [(source, "") for source, _ in pairs] + [("", "target")] * 60
    splits = drawn(pairs + empty, "half empty")
    for split in ("valid", "test"):
        assert len(splits[split]) == 3
        assert all(source and target for source, target in splits[split])


def test_a_long_text_is_tested_on_two_thousand_sentences():
    splits = drawn([(str(i), str(i)) for i in range(50_000)], "long")
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        "train": 46_000,
        "valid": 2_000,
        "test": 2_000,
    }


def test_a_text_with_another_ending_is_no_pair():
    assert issubclass(find("book.txt"), TextFile)
    assert issubclass(find("book.de"), TextFile)
    assert issubclass(find("book.de-en"), TwoFiles)
    assert issubclass(find("book.zh_Hans-pt_BR"), TwoFiles)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.with_suffix(".en").unlink(), r"manual\.en is missing"),
        (
            lambda path: [path.with_suffix(f".{each}").unlink() for each in ("de", "en")],
            r"manual\.de and manual\.en; neither exists",
        ),
        (lambda path: path.write_text("text"), "rename the text"),
        (lambda path: path.with_suffix(".en").write_text("one\n"), r"100 lines and .* has 1;"),
        (lambda path: write(path.parent, "manual", 39), "has 39 different sentences"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(corpus, change, message):
    change(corpus)
    with pytest.raises(UserError, match=message) as refusal:
        opened(corpus)
    assert "\n" not in str(refusal.value)


def test_two_languages_are_two(corpus):
    with pytest.raises(UserError, match="names one language twice"):
        opened(corpus.with_name("manual.de-de"))


def test_a_name_alone_says_what_is_missing(corpus):
    name, data = take_in("manual.de-en", default_home())
    assert data == ""
    with pytest.raises(
        UserError, match=r"means the files manual\.de and manual\.en, which are not"
    ):
        open_prepared(build(name, {}, data=data), default_home())
    _, digest = take_in(str(corpus), default_home())
    opened(corpus)
    with pytest.raises(UserError, match=f"--set task.data={digest}"):
        open_prepared(build(name, OPTIONS), default_home())


def test_the_command_names_the_variant(corpus):
    task = build("manual.de-en", OPTIONS, data="0123456789ab")
    words = "longarena data prepare PATH (of manual.de-en) --set vocabulary=300"
    assert command(task) == words
    with pytest.raises(UserError, match=r"PATH \(of manual\.de-en\) --set vocabulary=300"):
        open_prepared(task, default_home())


def test_a_copy_that_was_changed_is_refused(corpus):
    name, digest = take_in(str(corpus), default_home())
    task = build(name, OPTIONS, data=digest)
    (task.kept(default_home()) / "manual.de").write_text("something else\n")
    with pytest.raises(UserError, match=f"is not the text {digest}"):
        obtain(task, default_home())


def test_the_commands_take_the_path(corpus, run):
    code, output, _ = run("data", "prepare", str(corpus), "--set", "vocabulary=300")
    assert code == 0
    assert "examples: train 90, valid 5, test 5" in output
    code, output, _ = run("data", "show", str(corpus), "--set", "tokens=bytes", "--count", "1")
    assert code == 0
    assert "de sentence number" in output
