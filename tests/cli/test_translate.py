"""longarena train TWO FILES, then translate: sentences from the command line and by a pipe."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from cli.commands import SMALL_WORDS, assert_refused

from longarena.cli.main import main
from longarena.records.answers import read_answers
from longarena.tracks.bleu import score

NOUNS = {"Hund": "dog", "Mann": "man", "Ball": "ball", "Baum": "tree", "Vogel": "bird"}
VERBS = {"schläft": "sleeps", "läuft": "runs", "steht": "stands", "fällt": "falls"}
PAIRS = [
    (f"ein {noun} {verb} {extra}.", f"a {NOUNS[noun]} {VERBS[verb]} {there}.")
    for noun in NOUNS
    for verb in VERBS
    for extra, there in (("hier", "here"), ("dort", "there"), ("heute", "today"))
]
SETS = [
    "task.vocabulary=300",
    "model.width=16",
    "model.mlp_width=16",
    "model.depth=1",
    "batch_size=16",
    "steps=8",
    "schedule.warmup_steps=1",
    "evaluate_every=4",
    "validate_on=3",
    "log_every=2",
    "checkpoint_every=2",
    "average_checkpoints=3",
    "decoding.beam=2",
]
WORDS = [word for change in SETS for word in ("--set", change)]
RUNS = "runs/tiny.de-en/lite-transformer"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the run of a small model, and its id."""
    folder = tmp_path_factory.mktemp("sentences")
    for side, language in enumerate(("de", "en")):
        lines = "".join(f"{pair[side]}\n" for pair in PAIRS)
        (folder / f"tiny.{language}").write_text(lines, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("LONGARENA_HOME", str(folder / "home"))
        words = ["train", "tiny.de-en", "lite-transformer", *WORDS, "--quiet"]
        patch.setattr(sys, "argv", ["longarena", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
    [path] = (folder / RUNS).iterdir()
    return folder, path.name


@pytest.fixture
def translate(trained, run, monkeypatch):
    folder, name = trained
    monkeypatch.setenv("LONGARENA_HOME", str(folder / "home"))

    def call(*words, given=None):
        monkeypatch.chdir(folder)
        if given is not None:
            stdin = SimpleNamespace(buffer=io.BytesIO(given), isatty=lambda: False)
            monkeypatch.setattr(sys, "stdin", stdin)
        return run(words[0], name, *words[1:])

    return call


def test_every_sentence_has_a_line(translate):
    code, output, errors = translate("translate", "ein Hund läuft hier.", "ein Baum steht dort.")
    assert (code, errors) == (0, "")
    assert len(output.splitlines()) == 2


def test_lines_of_standard_input_are_translated_as_words_are(translate):
    sentences = ["ein Hund läuft hier.", "", "ein Baum"]
    _, output, _ = translate("translate", given="\n".join(sentences).encode())
    lines = output.split("\n")
    assert (len(lines), lines[1], lines[-1]) == (4, "", "")
    assert translate("translate", sentences[0])[1] == f"{lines[0]}\n"
    assert translate("translate", sentences[2])[1] == f"{lines[2]}\n"


def test_an_exported_model_translates_as_its_run_does(translate, trained, run, monkeypatch):
    _, expected, _ = translate("translate", "ein Hund läuft hier.")
    code, output, _ = run("export", "model", trained[1], "--out", "model")
    assert code == 0
    assert output.endswith("next: longarena translate model\n")
    monkeypatch.setenv("LONGARENA_HOME", "nowhere")
    assert run("translate", "model", "ein Hund läuft hier.")[1] == expected
    assert_refused(run("predict", "model", "tiny.de"), "use: longarena translate RUN")


def test_json_has_the_sentences_and_how_they_were_found(translate):
    _, output, errors = translate("translate", "ein Hund", "--json", "--length-penalty", "0.5")
    found = json.loads(output)
    assert errors == ""
    assert (found["beam"], found["length_penalty"]) == (2, 0.5)
    assert [each["source"] for each in found["translations"]] == ["ein Hund"]


@pytest.mark.parametrize(
    ("words", "given", "answer"),
    [
        (["translate"], b"ein \xff Hund\n", "not UTF-8 (byte 4)"),
        (["translate", "ein Hund", "--beam", "0"], None, "--beam"),
        (["translate", "ein Hund", "--length-penalty", "-1"], None, "--length-penalty"),
        (["translate", "Hund " * 200], None, "cut it in two"),
        (["generate", "--prompt", "a"], None, "which writes no text"),
    ],
)
def test_bad_input_is_refused_in_a_line(translate, words, given, answer):
    assert_refused(translate(*words, given=given), answer)


def test_a_run_of_another_track_translates_nothing(run, tmp_path):
    code, *_ = run("train", "listops", "linear", *SMALL_WORDS, "--quiet")
    assert code == 0
    [path] = (tmp_path / "runs/listops/linear").iterdir()
    assert_refused(run("translate", path.name, "ein Hund"), "which translates nothing")
    assert_refused(run("evaluate", path.name, "--beam", "2"), "leave out beam")


def test_the_record_has_what_a_reader_wants_to_know(trained):
    folder, name = trained
    record = json.loads((folder / RUNS / name / "record.json").read_text())
    assert record["metric"]["name"] == "BLEU"
    details = record["metrics"]["details"]
    assert details["beam"] == 2
    assert "tok:13a" in details["signature"]
    assert 0 <= details["chrF"] <= 100
    kinds = details["mult_adds"]
    assert kinds["total"] == sum(value for key, value in kinds.items() if key != "total")
    assert {"source", "reference", "translation"} == set(details["translations"][0])
    log = (folder / RUNS / name / "log.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in log]
    assert [line["BLEU"] for line in lines if "loss" in line] == [None] * 4
    assert [line["step"] for line in lines if "valid_BLEU" in line] == [4, 8]
    kept = sorted(path.name for path in (folder / RUNS / name / "checkpoint").glob("step-*.json"))
    assert len(kept) == 3


def test_the_score_can_be_computed_again_from_what_was_written(trained):
    folder, name = trained
    record = json.loads((folder / RUNS / name / "record.json").read_text())
    answers = read_answers(folder / RUNS / name / "record.npz")
    shown = {each["source"]: each for each in record["metrics"]["details"]["translations"]}
    by_source = dict(PAIRS)
    # the test split is small enough to be shown whole
    sources = [each for each in shown if each in by_source]
    assert len(sources) == len(answers.texts) == record["metrics"]["test"]["examples"]
    again = score(answers.texts, [by_source[each] for each in sources])
    assert again.value == pytest.approx(record["metrics"]["test"]["value"])


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("train", "for a sentence of 30 tokens, more than --max-mult-adds 10K"),
        ("sweep", "all 2 runs take more than --max-mult-adds 10K; raise it"),
    ],
)
def test_a_budget_is_that_of_a_sentence(trained, run, monkeypatch, command, answer):
    folder, _ = trained
    monkeypatch.setenv("LONGARENA_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    names = {
        "train": ["tiny.de-en", "transformer"],
        "sweep": ["--tasks", "tiny.de-en", "--mixers", "transformer,lite-transformer"],
    }
    words = [*names[command], *WORDS, "--max-mult-adds", "10K"]
    assert_refused(run(command, *words), answer)


def test_a_sweep_leaves_out_what_is_above_the_budget(trained, run, monkeypatch):
    folder, _ = trained
    monkeypatch.setenv("LONGARENA_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    words = ["--tasks", "tiny.de-en", "--mixers", "transformer,lite-transformer"]
    words += [*WORDS, "--set", "model.mlp_width=64", "--max-mult-adds", "250K", "--dry-run"]
    code, output, _ = run("sweep", *words)
    assert code == 0
    assert "1 run of 2 left out: more than 250K Mult-Adds" in output
    assert "lite-transformer" in output


def test_a_run_is_evaluated_with_another_beam(translate):
    code, output, _ = translate("evaluate", "--beam", "1", "--json")
    assert code == 0
    assert json.loads(output)["metric"] == "BLEU"


def test_a_page_shows_translations_and_the_chart_of_costs(translate, trained, run, monkeypatch):
    folder, name = trained
    monkeypatch.setenv("LONGARENA_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    code, *_ = run("report", "--out", "site", "--quiet")
    assert code == 0
    [page] = [p for p in (folder / "site/runs").glob("*.html") if name in p.read_text()]
    assert "This model" in page.read_text()
    assert "chrF" in page.read_text()
    assert "Mult-Adds of a sentence of 30 tokens" in (folder / "site/index.html").read_text()
