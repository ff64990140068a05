"""What the documents say is tried: snippets run, named files exist."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest
import torch
from choose.choices import usual
from choose.contests import pretend_speeds
from cli.commands import SMALL_WORDS
from sweep.crews import InlineCrew
from tasks.own_data import reviews, write_csv
from typer.main import get_command
from typer.testing import CliRunner

from longarena.attention import CARDS, MIXERS, Place
from longarena.cli.main import app
from longarena.errors import UserError
from longarena.options import Options
from longarena.records.folder import read_records

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
MEASURING, TRAINING = ROOT / "docs/measuring.md", ROOT / "docs/training.md"
TUNING, LANGUAGE = ROOT / "docs/tuning.md", ROOT / "docs/language.md"
PROBES, OWN_DATA = ROOT / "docs/probes.md", ROOT / "docs/own-data.md"
LAYER, MODEL = ROOT / "docs/use-a-layer.md", ROOT / "docs/use-a-model.md"
COMPARING, CHOOSING = ROOT / "docs/compare.md", ROOT / "docs/choose.md"
# what a page shows at full size is tried at a small one
SMALLER = {
    r"(measure (?!.*--task).*)": r"\1 --lengths 64,128 --shape small",
    r"--preset \w+": "--preset quick --set task.min_length=4 --set task.max_length=64",
    r"500M": "1M",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture
def own_module(tmp_path):
    """Write a page's example to `mine.py`; the module is forgotten when the test ends."""

    def write(page):
        (tmp_path / "mine.py").write_text(blocks(ROOT / f"docs/{page}.md", "python")[0])

    yield write
    sys.modules.pop("mine", None)


def test_the_example_mixer_trains_from_the_command_line(own_module, run):
    own_module("add-a-mixer")
    output = run(["train", "listops", "mine:RunningMean", *SMALL_WORDS, "--quiet"])
    assert "test accuracy" in output


def test_the_example_mixer_is_checked_and_compared_as_the_page_says(own_module, run, monkeypatch):
    own_module("add-a-mixer")
    # a process of its own; tests/contract tries it
    monkeypatch.setattr("longarena.contract.check.check_device", lambda *_, **__: None)
    check, compare = (
        next(c for c in commands(COMPARING) if c.startswith(word)) for word in ("check", "compare")
    )
    assert "0 of" in run([*shlex.split(check), "--quiet"])
    mixers = ("mine:RunningMean", "linear")
    words = [["train", "listops", each, *SMALL_WORDS, "--json", "--quiet"] for each in mixers]
    for trained in [json.loads(run(each))["id"] for each in words]:
        compare = compare.replace("RUN", trained, 1)
    assert "by a paired bootstrap over" in run(shlex.split(compare))
    assert "standing" in run(["list", "runs"])


@torch.no_grad()
def test_the_example_decoder_gives_what_its_mixer_gives():
    names = {"__name__": "mine"}
    exec("".join(blocks(ROOT / "docs/add-a-mixer.md", "python")), names)
    place = Place(width=8, qkv_width=8, num_heads=1, max_length=20, causal=True)
    mixer = names["PastMean"](place, Options())
    x = torch.randn(2, 20, 8)
    expected = mixer(x, torch.ones(2, 20, dtype=torch.bool))
    torch.testing.assert_close(mixer.start(2).read(x), expected)
    assert mixer.state_bytes(20) == 8 * 4


def layer_blocks():
    """The code of the page about layers: what runs everywhere, and what needs transformers."""
    found = blocks(LAYER, "python")
    first = next(i for i, code in enumerate(found) if "transformers" in code)
    return found[:first], found[first:]


def test_the_layer_of_the_page_is_used_trained_stepped_and_called(capsys):
    exec("".join(layer_blocks()[0]), {"__name__": "page"})
    said = ["(3, 200, 64)", "trained", "True", "(3, 4, 200, 16)", "True"]
    assert capsys.readouterr().out.splitlines() == said


def test_the_page_names_every_mechanism_that_is_a_function():
    text = LAYER.read_text().partition("These are")[2].partition("any other is refused")[0]
    assert set(re.findall(r"`([a-z-]+)`", text)) == {
        name for name in CARDS if getattr(MIXERS[name], "is_function", False)
    }


@pytest.mark.filterwarnings("ignore")  # those of another library
def test_the_layer_of_the_page_works_in_a_hugging_face_model(capsys):
    pytest.importorskip("transformers", reason="transformers is not installed, nor needed")
    names = {"__name__": "page"}
    exec("".join(chain.from_iterable(layer_blocks())), names)
    assert capsys.readouterr().out.splitlines()[-2:] == ["(3, 200, 64)"] * 2
    # padding is not seen, and the function is what its layer would be: softmax attention
    ids, mask = names["ids"], names["mask"]
    noisy = torch.where(mask, ids, 7)
    bert = names["BertModel"](names["config"]).eval()
    bert.set_attn_implementation("sdpa")
    plain = bert(ids, attention_mask=mask.long()).last_hidden_state[mask]
    names["attend"] = names["as_function"]("transformer", num_heads=4, head_size=16, max_length=512)
    bert.set_attn_implementation("longarena-local")
    found = bert(noisy, attention_mask=mask.long()).last_hidden_state[mask]
    torch.testing.assert_close(found, plain)


def test_the_trained_model_of_the_page_is_asked_exported_and_loaded(run, tmp_path, capsys):
    write_csv(tmp_path / "reviews.csv", reviews(), header=("review", "stars"))
    write_csv(tmp_path / "new.csv", reviews(6), header=("review", "stars"))
    train, *asked = commands(MODEL)
    small = ["--set", "task.max_length=16", "--set", "batch_size=4", "--steps", "2", "--quiet"]
    name = json.loads(run([*shlex.split(train), *small, "--json"]))["id"]
    outputs = [run(shlex.split(command.replace("RUN", name))) for command in asked]
    assert outputs[0] == outputs[-1] != ""
    assert "6 answers" in outputs[1]
    exec("".join(blocks(MODEL, "python")), {})
    *answers, last = capsys.readouterr().out.splitlines()
    assert len(answers) == 2
    assert last == "(1, 2) (1, 4, 64) ('bad', 'good')"


@pytest.mark.parametrize(
    ("page", "task", "word"),
    [("add-a-task", "mine:Majority", "accuracy"), ("add-a-track", "mine:Count", "error")],
)
def test_the_example_task_and_track_train_from_the_command_line(page, task, word, own_module, run):
    own_module(page)
    assert "\n" in run(["data", "show", task, "--count", "2"])
    size = ["--set", "task.size=0.02", "--set", "batch_size=8", "--steps", "4", "--quiet"]
    output = run(["train", task, "linear", *size])
    assert f"test {word}" in output
    assert "without a model" in output
    record = read_records(Path("runs/records")).runs[0]
    assert record.metric.name == word
    del sys.modules["mine"]
    # the page shows the run although nothing can be imported any more
    Path("mine.py").unlink()
    assert "1 run" in run(["report"])
    assert task in Path("report/index.html").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    named = re.findall(r"`((?:longarena|tests|docs)/[\w./-]+)`", page.read_text())
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_exists(page):
    code = " ".join(re.findall(r"`[^`]+`|```.*?```", page.read_text(), re.DOTALL))
    # a line of prose may break between the two words of a command
    pattern = r"longarena ([a-z]+)(?:\s+(?!longarena)([a-z]+))?"
    for word, second in set(re.findall(pattern, code)):
        command = get_command(app).commands[word]
        assert not hasattr(command, "commands") or second in command.commands, (word, second)


def commands(page):
    return re.findall(r"^longarena (.+)$", "\n".join(blocks(page, "")), re.MULTILINE)


def smaller(command):
    for pattern, replacement in SMALLER.items():
        command = re.sub(pattern, replacement, command)
    return shlex.split(command)


@pytest.fixture
def run(monkeypatch, tmp_path, hasty):
    """Run a command of a page in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda words: CliRunner().invoke(app, words, catch_exceptions=False).stdout


def measurements():
    """The commands that measure; those that time something wait for `make test-all`."""
    found = [command for command in commands(MEASURING) if command.startswith("measure")]
    timed = [command for command in found if "--cost" not in command]
    everywhere = pytest.mark.everywhere
    return [pytest.param(c, marks=everywhere) if c in timed else c for c in found]


@pytest.mark.slow
@pytest.mark.parametrize("command", measurements())
def test_every_measurement_of_the_page_runs(command, run):
    output = run(smaller(command))
    assert "Mult-Adds" in output
    assert ("--max-mult-adds" in command) == ("above 1M" in output)


def test_the_training_that_the_page_says_is_refused_is_refused(run, tmp_path):
    [command] = [c for c in commands(MEASURING) if c.startswith("train")]
    with pytest.raises(UserError, match="more than --max-mult-adds"):
        run(smaller(command))
    assert not list(tmp_path.iterdir())


def test_the_span_of_a_run_is_measured_as_the_page_says(run):
    [command] = [c for c in commands(MEASURING) if c.startswith("span")]
    trained = json.loads(run(["train", "listops", "linear", *SMALL_WORDS, "--json", "--quiet"]))
    assert "mean span" in run(shlex.split(command.replace("RUN", trained["id"])))


# two devices are two processes, which `tests/training/test_devices.py` starts
@pytest.mark.parametrize(
    "command", [c for c in commands(TRAINING) if c.startswith("train") and "--devices" not in c]
)
def test_every_training_of_the_page_runs(command, run):
    # the last word counts, so what the page changes stays changed
    first, task, mixer, *rest = shlex.split(command)
    assert "test accuracy" in run([first, task, mixer, *SMALL_WORDS, *rest, "--quiet"])


@pytest.mark.parametrize("command", [c for c in commands(TUNING) if c.startswith("sweep")])
def test_every_tuning_of_the_page_chooses_and_fills_the_table(command, run, monkeypatch):
    # in this process, so that no worker has to start
    inline = lambda *_: lambda places: nullcontext(InlineCrew(places))  # noqa: E731
    monkeypatch.setattr(import_module("longarena.sweep"), "local", inline)
    small = [*SMALL_WORDS, "--mixers", "linear", "--quiet"]
    assert "on validation" in run([*shlex.split(command), *small])
    [export] = [c for c in commands(TUNING) if c.startswith("export")]
    table = Path(run(shlex.split(export)).strip()).read_text()
    assert "| Linear Transformer " in table


def test_the_text_of_the_page_is_trained_on_and_continued(run, tmp_path):
    (tmp_path / "book.txt").write_text("It was the best of times. " * 100)
    (tmp_path / "beginning.txt").write_text("It was")
    [train] = [c for c in commands(LANGUAGE) if c.startswith("train book.txt")]
    small = ["--set", "task.length=32", "--set", "batch_size=4", "--steps", "3", "--quiet"]
    trained = json.loads(run([*shlex.split(train), *small, "--json"]))
    generations = [c for c in commands(LANGUAGE) if c.startswith("generate")]
    for command in generations:
        assert run([*shlex.split(command.replace("RUN", trained["id"])), "--tokens", "5"])


def test_the_table_of_the_page_is_shown_and_trained_on(run, tmp_path):
    write_csv(tmp_path / "reviews.csv", reviews(), header=("review", "stars"))
    show, train, sweep = commands(OWN_DATA)
    assert "classes: 2" in run(shlex.split(show))
    small = ["--set", "task.max_length=16", "--set", "batch_size=4", "--steps", "2", "--quiet"]
    assert "test accuracy" in run([*shlex.split(train), *small])
    assert "3 runs" in run([*shlex.split(sweep), "--dry-run"])


def test_the_table_of_the_page_is_chosen_for(run, tmp_path, monkeypatch):
    write_csv(tmp_path / "reviews.csv", reviews(), header=("review", "stars"))
    inline = lambda *_: lambda places: nullcontext(InlineCrew(places))  # noqa: E731
    monkeypatch.setattr(import_module("longarena.sweep"), "local", inline)
    pretend_speeds(monkeypatch)
    [command] = [c for c in commands(CHOOSING) if c.startswith("choose reviews.csv")]
    sets = ["task.max_length=16", "batch_size=4", "steps=8", "model.width=8"]
    small = [word for each in sets for word in ("--set", each)]
    words = [*shlex.split(command), "--only", "linear,transformer", *small, "--quiet"]
    assert "take " in run(words)
    assert Path("choose/reviews/index.html").exists()


def test_the_python_of_the_page_asks_and_prints_the_answer(monkeypatch, capsys):
    monkeypatch.setattr(import_module("longarena.choose"), "choose", lambda *_: usual())
    exec("".join(blocks(CHOOSING, "python")), {})
    assert "take Local Attention" in capsys.readouterr().out


def test_the_examples_of_the_probes_are_those_of_the_page(run):
    shown = " ".join(PROBES.read_text().split())
    commands_ = [c for c in commands(PROBES) if c.startswith("data show") and "passkey" not in c]
    assert len(commands_) == 3
    for command in commands_:
        assert " ".join(run(shlex.split(command)).split()) in shown


@pytest.mark.everywhere
def test_a_probe_is_scored_at_lengths_as_the_page_says(run):
    [command] = [c for c in commands(PROBES) if c.startswith("evaluate")]
    sets = ["task.size=0.002", "task.length=16", "batch_size=8", "steps=2", "evaluate_every=2"]
    words = [word for each in sets for word in ("--set", each)]
    made = run(["train", "induction", "linear", "--preset", "cpu", *words, "--json", "--quiet"])
    rows = run(shlex.split(command.replace("RUN", json.loads(made)["id"])))
    assert all(length in rows for length in ("64", "256", "1,024"))


@pytest.mark.everywhere
@pytest.mark.slow
def test_the_python_of_the_page_runs_as_one_script(tmp_path):
    *script, own, last = blocks(ROOT / "docs/python.md", "python")
    (tmp_path / "own.py").write_text(own)
    (tmp_path / "script.py").write_text("\n".join([*script, last]))
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trained, swept, page, mixer = done.stdout.splitlines()
    assert len(trained.split()) == 3
    assert swept == "2 finished"
    assert (tmp_path / page).exists()
    assert mixer == "own:Shift"
