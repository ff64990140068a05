"""Parallel text: which lines become which tokens, what is left out, and what is refused."""

import gzip

import numpy as np
import pytest
from tasks.sources import parallel, write_tar, write_tree

from longarena.data.sample import sample
from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.base import SPLITS, default_home
from longarena.tasks.multi30k import Multi30k
from longarena.tasks.prepare import open_prepared, prepare

SMALL = {"vocabulary": 300}


def read(path, options=SMALL, name="multi30k", size=1.0):
    return prepare(build(name, options, size), default_home(), path)


def write(folder, changed=None, **arguments):
    return write_tree(folder, parallel(**arguments) | (changed or {}))


def lines(name, files=None):
    return (files or parallel())[f"corpus/{name}"].decode().splitlines()


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "small")


@pytest.mark.parametrize("options", [SMALL, {"tokens": "bytes"}])
def test_every_pair_is_there_in_order(source, options):
    data = read(source, options)
    for split, name in zip(SPLITS, ("train", "val", "test"), strict=True):
        pairs = data.split(split)
        for which, (language, texts) in enumerate(
            (("de", pairs.sources), ("en", pairs.references))
        ):
            assert texts == lines(f"{name}.{language}")
            assert texts == [
                data.tokeniser.decode(pairs.sequence(i, which).tolist()) for i in range(len(pairs))
            ]
        assert pairs.labels.tolist() == list(range(len(pairs)))


def test_the_direction_can_be_turned(source):
    there, back = read(source).split("test"), read(source, SMALL | {"direction": "en-de"})
    assert back.split("test").sources == there.references
    assert back.split("test").references == there.sources
    assert back.folder.name == "v1,small,direction=en-de,vocabulary=300"


def test_the_signature_counts_what_may_stand_in_a_batch():
    bpe, plain = (build("multi30k", options).signature for options in ({}, {"tokens": "bytes"}))
    assert (bpe.vocab_size, bpe.max_length) == (8001, 128)
    assert (plain.vocab_size, plain.max_length) == (257, 512)
    assert bpe.track == plain.track == "translation"
    assert build("wmt14", {"max_length": 7}).signature.max_length == 7


def test_bytes_take_one_byte_on_disk_and_pairs_two(source):
    assert read(source).tokens == "uint16"
    assert read(source, {"tokens": "bytes"}).tokens == "uint8"


def test_the_tokeniser_knows_the_training_split_alone(source, tmp_path):
    other = {
        f"corpus/{name}.{language}": "Völlig anderes! " * 3 + "\n"
        for name in ("val", "test")
        for language in ("de", "en")
    }
    changed = write(tmp_path / "other", {name: text.encode() for name, text in other.items()})
    first, second = read(source), read(changed)
    assert first.tokeniser == second.tokeniser
    assert np.array_equal(first.split("train").tokens, second.split("train").tokens)
    english = parallel()["corpus/train.en"].replace(b"street", b"avenue")
    trained = write(tmp_path / "trained", {"corpus/train.en": english})
    assert read(trained).tokeniser != first.tokeniser


def test_the_fingerprint_follows_the_tokeniser_and_the_texts(source, tmp_path):
    data = read(source)
    again = write_tar(tmp_path / "again.tar.gz", parallel())
    assert read(again).fingerprint == data.fingerprint
    for options in ({"vocabulary": 301}, {"tokens": "bytes"}, SMALL | {"lower_case": True}):
        assert read(source, options).fingerprint != data.fingerprint


@pytest.mark.parametrize("name", ["tokeniser.json", "test.target.txt"])
def test_damage_beside_the_tokens_is_noticed(source, name):
    data = read(source)
    path = data.folder / name
    path.write_bytes(path.read_bytes().replace(b"n", b"m", 1))
    with pytest.raises(UserError, match="does not match its fingerprint"):
        open_prepared(build("multi30k", SMALL, data="small"), default_home())
    path.unlink()
    with pytest.raises(UserError, match=f"{name} is missing"):
        open_prepared(build("multi30k", SMALL, data="small"), default_home())


def test_texts_follow_a_sample_and_a_smaller_version(source):
    whole = read(source).split("train")
    for part in (sample(whole, 7), read(source, size=0.25).split("train")):
        assert len(part) in (7, 15)
        assert part.sources == [whole.sources[i] for i in part.labels]
        for i in range(len(part)):
            assert part.tokeniser.decode(part.sequence(i, 1).tolist()) == part.references[i]
    assert sample(whole, 7).references != whole.references[:7]


def test_training_pairs_that_teach_nothing_are_left_out(tmp_path):
    odd = [
        ("", "empty"),
        ("leer", ""),
        ("x " * 60, "y " * 60),
        ("a b c d e f g h i j", "k"),
        (" ", " "),
    ]
    files = parallel()
    for which, language in enumerate(("de", "en")):
        for name in ("train", "val", "test"):
            texts = "".join(f"{pair[which]}\n" for pair in odd)
            files[f"corpus/{name}.{language}"] = texts.encode() + files[f"corpus/{name}.{language}"]
    data = read(write_tree(tmp_path / "odd", files), {"tokens": "bytes", "max_length": 100})
    train, test = data.split("train"), data.split("test")
    assert train.labels.tolist() == list(range(5, 65))
    assert train.references == lines("train.en")
    assert data.facts["dropped"] == {"train": 5}
    # of the test nothing is missing, and what it is compared with is whole
    assert len(test) == 11
    assert test.lengths.max() == 100
    assert test.references[2] == "y " * 59 + "y"
    assert data.facts["cut"] == {"valid": 1, "test": 1}


def test_official_row_counts_make_the_task_itself(source, monkeypatch):
    sizes = {"train": 60, "valid": 8, "test": 6}
    card = Multi30k.card.fget
    changed = property(lambda task: card(task).model_copy(update={"sizes": sizes}))
    monkeypatch.setattr(Multi30k, "card", changed)
    with_empty = source / "corpus/train.de"
    with_empty.write_bytes(b"\n" + with_empty.read_bytes().partition(b"\n")[2])
    data = read(source)
    assert data.facts["data"] == ""
    assert data.facts["dropped"] == {"train": 1}


@pytest.mark.parametrize(
    ("task", "names", "languages"),
    [
        ("multi30k", ("train", "val", "test_2016_flickr"), ("de", "en")),
        (
            "multi30k",
            ("train.lc.norm.tok", "dev.lc.norm.tok", "test2016.lc.norm.tok"),
            ("de", "en"),
        ),
        ("iwslt14", ("train", "valid", "test"), ("de", "en")),
        ("iwslt14", ("train.de-en", "valid.de-en", "test.de-en"), ("de", "en")),
        (
            "wmt14",
            (
                "train.tok.clean.bpe.32000",
                "newstest2013.tok.bpe.32000",
                "newstest2014.tok.bpe.32000",
            ),
            ("en", "de"),
        ),
        ("wmt14", ("train", "valid", "test"), ("en", "fr")),
    ],
)
def test_the_usual_names_are_known(tmp_path, task, names, languages):
    source = write(tmp_path / "small", names=names, languages=languages)
    direction = {"direction": "en-fr"} if "fr" in languages else {}
    data = read(source, SMALL | direction, task)
    assert data.sizes == {"train": 60, "valid": 8, "test": 6}
    assert data.split("test").sources == lines(
        f"{names[2]}.{languages[0]}", parallel(names=names, languages=languages)
    )


def test_packed_files_and_archives_are_read(tmp_path):
    packed = {f"{name}.gz": gzip.compress(text) for name, text in parallel().items()}
    first = read(write_tree(tmp_path / "packed", packed))
    second = read(write_tar(tmp_path / "archive.tar.xz", parallel(), "w:xz"))
    assert first.fingerprint == second.fingerprint


def test_byte_pairs_of_fairseq_are_joined(tmp_path):
    files = parallel()
    files["corpus/train.de"] = files["corpus/train.de"].replace(
        "läuft".encode(), "l@@ äu@@ ft".encode()
    )
    data = read(write_tree(tmp_path / "cut", files), name="iwslt14")
    assert data.split("train").sources == lines("train.de")


@pytest.mark.parametrize("deep_first", [True, False])
def test_of_two_copies_the_outer_one_counts(tmp_path, deep_first):
    deep = {
        name.replace("corpus/", "corpus/tmp/"): text for name, text in parallel((9, 9, 9)).items()
    }
    members = deep | parallel() if deep_first else parallel() | deep
    assert read(write_tar(tmp_path / "twice.tar.gz", members)).sizes["train"] == 60


def test_two_files_for_one_place_are_refused(source):
    (source / "corpus/dev.en").write_text("another\n")
    with pytest.raises(UserError, match=r"both corpus/dev\.en and corpus/val\.en for valid\.en"):
        read(source)


def test_other_line_ends_of_unicode_do_not_shift_lines(tmp_path):
    files = parallel()
    for name in ("train.de", "test.de"):
        first, rest = files[f"corpus/{name}"].split(b"\n", 1)
        odd = first + "\u2028\x85\x0b\x1c und mehr".encode()
        files[f"corpus/{name}"] = odd + b"\r\n" + rest
    data = read(write_tree(tmp_path / "odd", files))
    assert data.split("test").sources[1:] == lines("test.de")[1:]
    assert data.split("test").sources[0].endswith("\u2028\x85\x0b\x1c und mehr")
    assert data.facts.get("dropped") is None


def test_a_mark_at_the_beginning_of_a_file_is_no_letter(source):
    path = source / "corpus/test.de"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read(source).split("test").sources == lines("test.de")


def test_lower_case_is_in_the_tokens_but_not_in_the_texts(source):
    data = read(source, SMALL | {"lower_case": True})
    test = data.split("test")
    assert test.references == lines("test.en")
    assert data.tokeniser.decode(test.sequence(0, 1).tolist()) == lines("test.en")[0].lower()
    assert test.tokeniser.lower_case


BROKEN = {
    "unequal": ("train.en", lambda text: text + b"one more\n", r"train\.de has 60 lines and .*61"),
    "empty": ("test.de", lambda text: b"", r"test\.de is empty"),
    "blank": ("test.de", lambda text: b"\n\n \n", r"test\.de is empty"),
    "latin1": (
        "val.de",
        lambda text: text.decode().encode("latin1"),
        r"val\.de, line 1: not UTF-8",
    ),
    "one bad byte": (
        "train.en",
        lambda text: text.replace(b"street", b"stre\xe9t", 3)[::1],
        r"train\.en, line 1: not UTF-8",
    ),
    "utf-16": (
        "val.en",
        lambda text: text.decode().encode("utf-16"),
        r"val\.en, line 1: not UTF-8",
    ),
    "no gzip": ("test.en.gz", lambda text: b"plain", r"is damaged or cut off"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_are_named_in_one_line(source, run, kind):
    name, damage, message = BROKEN[kind]
    path = source / "corpus" / name
    content = damage(path.read_bytes()) if path.exists() else damage(b"")
    path.with_suffix("").unlink(missing_ok=True) if name.endswith(".gz") else None
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read(source)
    code, _, errors = run("data", "prepare", "multi30k", "--source", str(source))
    assert code == 2
    assert len(errors.strip().splitlines()) == 1


def test_the_line_of_a_bad_byte_is_told(source):
    path = source / "corpus/train.de"
    path.write_bytes(path.read_bytes().replace(b" 41 ", b" \xff "))
    with pytest.raises(UserError, match=r"train\.de, line 42: not UTF-8"):
        read(source)


@pytest.mark.parametrize("name", ["val.de", "test.en", "train.de"])
def test_a_missing_file_is_named(source, name):
    (source / "corpus" / name).unlink()
    missing = name.replace("val", "valid").replace(".", r"\.")
    with pytest.raises(UserError, match=rf"has no {missing}; it should hold train, valid \(or val"):
        read(source)


def test_training_pairs_of_which_none_is_left_are_refused(source):
    with pytest.raises(UserError, match="no pair of train is left; raise max_length"):
        read(source, SMALL | {"max_length": 2})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 256}, "greater than 256"),
        ({"vocabulary": 70_000}, "less than or equal to 65536"),
        ({"tokens": "bytes", "vocabulary": 400}, "bytes have no vocabulary"),
        ({"tokens": "words"}, "'bpe' or 'bytes'"),
        ({"direction": "de-fr"}, "'de-en' or 'en-de'"),
        ({"max_ratio": 0.5}, "greater than or equal to 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        build("multi30k", options)


def test_examples_are_shown_as_text(source, run):
    read(source)
    words = ["--set", "vocabulary=300", "--set", "data=small", "--split", "test", "--count", "1"]
    code, output, _ = run("data", "show", "multi30k", *words)
    assert code == 0
    assert "line 1\nde (" in output
    assert lines("test.de")[0] in output
    assert lines("test.en")[0] in output


def test_what_was_left_out_is_said_when_data_is_prepared(source, run):
    path = source / "corpus/train.de"
    path.write_bytes(b"\n" + path.read_bytes().partition(b"\n")[2])
    code, output, _ = run(
        "data", "prepare", "multi30k", "--source", str(source), "--set", "vocabulary=300"
    )
    assert code == 0
    assert "left out: train 1\n" in output
