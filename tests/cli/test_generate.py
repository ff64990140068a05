"""longarena train TEXT, then generate: the words come as they are drawn."""

import json
import sys

import pytest
from cli.commands import SMALL_WORDS, assert_refused

from longarena.cli.main import main

TEXT = ("the cat sat on the mat, the dog sat on the log; caf\u00e9. " * 60).encode()
SETS = [
    "task.length=32",
    "model.width=16",
    "model.mlp_width=16",
    "batch_size=4",
    "steps=6",
    "schedule.warmup_steps=1",
    "evaluate_every=3",
    "validate_on=5",
    "log_every=2",
    "checkpoint_every=2",
]
# it has a decoder of its own, so it need not end where it was trained
MIXER = "transformer"
RUNS = f"runs/text.txt/{MIXER}"
WORDS = [word for change in SETS for word in ("--set", change)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the runs of two models of one text, and their ids."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "text.txt").write_bytes(TEXT)
    ids = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("LONGARENA_HOME", str(folder / "home"))
        for positions in ("rotary", "learned"):
            more = ["--set", f"model.positions={positions}", "--quiet"]
            patch.setattr(sys, "argv", ["longarena", "train", "text.txt", MIXER, *WORDS, *more])
            with pytest.raises(SystemExit):
                main()
            paths = {path.name for path in (folder / RUNS).iterdir()}
            [ids[positions]] = paths - set(ids.values())
    return folder, ids


@pytest.fixture
def generate(trained, run, monkeypatch):
    folder, ids = trained
    monkeypatch.chdir(folder)

    def call(*words, positions="rotary"):
        return run("generate", ids[positions], *words)

    return call


def test_a_text_is_trained_on_and_its_record_states_how_it_was_scored(trained, run, monkeypatch):
    folder, ids = trained
    monkeypatch.chdir(folder)
    record = json.loads((folder / RUNS / ids["rotary"] / "record.json").read_text())
    assert record["metric"]["unit"] == "bits per byte"
    assert len(record["fingerprint"]) == 16
    details = record["metrics"]["details"]
    assert (details["context"], details["overlap"]) == (32, 16)
    assert set(details["levels"]) == {"bzip2 -9", "xz -9"}
    _, output, _ = run("show", "run", ids["rotary"])
    assert "context 32, overlap 16, bzip2 -9" in output
    assert "test entropy" in output
    assert "validation" in output
    assert "on 5 examples" in output


def test_the_same_seed_writes_the_same_text_and_another_seed_another(generate):
    words = ["--prompt", "the ", "--tokens", "60", "--quiet"]
    code, first, errors = generate(*words, "--seed", "1")
    assert (code, errors) == (0, "")
    assert generate(*words, "--seed", "1")[1] == first
    assert generate(*words, "--seed", "2")[1] != first


def test_rate_and_state_are_told_on_standard_error(generate):
    code, output, errors = generate("--tokens", "7")
    assert code == 0
    assert errors.startswith("7 tokens, ")
    assert "tokens/s, state " in errors
    assert "context 32 bytes" in errors
    assert "tokens/s" not in output


def test_json_is_all_there_is_on_standard_output(generate):
    _, output, errors = generate("--tokens", "5", "--prompt", "caf\u00e9", "--json")
    found = json.loads(output)
    assert errors == ""
    assert found["prompt"] == "caf\u00e9"
    assert (found["tokens"], found["context"], found["restarts"]) == (5, 32, 0)
    assert found["state_bytes"] > 0
    assert found["tokens_per_second"] > 0
    _, shown, _ = generate("--tokens", "5", "--prompt", "caf\u00e9", "--quiet")
    assert len(shown) - 1 <= 5


def test_a_prompt_can_come_from_a_file(generate, tmp_path):
    path = tmp_path / "prompt.bin"
    path.write_bytes("the dog \u00e9".encode())
    words = ["--tokens", "20", "--quiet"]
    from_file = generate(*words, "--prompt-file", str(path))
    assert from_file == generate(*words, "--prompt", "the dog \u00e9")
    assert from_file[0] == 0


def test_greedy_text_needs_no_seed(generate):
    words = ["--tokens", "20", "--temperature", "0", "--quiet", "--seed"]
    assert generate(*words, "1") == generate(*words, "2")
    assert generate(*words, "1") == generate(*words, "1", "--top-k", "1", "--temperature", "3")


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_a_longer_text_than_was_trained_on_is_begun_anew(generate, positions):
    _, output, errors = generate("--tokens", "80", "--prompt", "the cat", positions=positions)
    # 26 bytes fill the window, and then 17 of them each time
    assert "begun anew 4 times" in errors
    assert len(output.encode()) >= 80


def test_a_longer_context_than_there_are_positions_is_refused(generate):
    ended = generate("--context", "65", positions="learned")
    assert_refused(ended, "which reads at most 64")
    assert generate("--context", "65", "--tokens", "3")[0] == 0


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--prompt", "a", "--prompt-file", "b"], "leave one out"),
        (["--prompt-file", "nowhere"], "nowhere"),
        (["--tokens", "0"], "--tokens"),
        (["--temperature", "-1"], "--temperature"),
    ],
)
def test_a_mistake_is_one_line(generate, words, answer):
    assert_refused(generate(*words), answer)


def test_an_exported_model_writes_what_its_run_writes(generate, trained, run):
    expected = generate("--prompt", "the ", "--tokens", "40", "--quiet")
    code, output, _ = run("export", "model", trained[1]["rotary"], "--out", "model")
    assert code == 0
    assert output.endswith("next: longarena generate model\n")
    assert run("generate", "model", "--prompt", "the ", "--tokens", "40", "--quiet") == expected
    assert_refused(run("predict", "model", "text.txt"), "use: longarena generate RUN")


def test_a_run_of_another_track_is_refused(run):
    _, output, _ = run("train", "listops", "linear", *SMALL_WORDS, "--quiet", "--json")
    ended = run("generate", json.loads(output)["id"])
    assert_refused(ended, "of the track classification, which writes no text")


def test_what_is_no_text_is_replaced(generate, monkeypatch):
    drawn = iter(b"\xc3\xa9\xff\x1b[2J\xe2\x82")
    monkeypatch.setattr(
        "longarena.inference.generate.Sampling.draw", lambda *_: next(drawn), raising=True
    )
    _, output, _ = generate("--tokens", "9", "--quiet")
    assert output == "\u00e9\ufffd\ufffd[2J\ufffd\n"


def test_a_text_is_prepared_and_shown(trained, run, monkeypatch):
    monkeypatch.chdir(trained[0])
    code, output, _ = run("data", "prepare", "text.txt")
    assert code == 0
    assert "bytes: train 2,970, valid 165, test 165" in output
    assert output.endswith("next: longarena data show text.txt\n")
    _, output, _ = run("data", "show", "text.txt", "--count", "1")
    assert output.startswith("the first 1,000 of 2,970 bytes:\nthe cat sat")
