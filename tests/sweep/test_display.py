import dataclasses
import io
import json

from records.test_folder import record
from rich.console import Console
from sweep.crews import RECIPES, begin

from longarena.recipes.pretraining import pretrained, start_of
from longarena.sweep.display import Lines, Watch, display, moment
from longarena.sweep.plan import Names
from longarena.tracks.metric import ACCURACY
from longarena.training.folder import RunFolder

LOG = [
    {"step": 3, "loss": 2.0, "accuracy": 0.25, "steps_per_second": 4.0},
    {"step": 5, "valid_accuracy": 0.5, "valid_loss": 1.0},
    {"step": 6, "loss": None, "accuracy": 0.25, "steps_per_second": 2.0},
]


def write_log(folder, lines, rest=""):
    folder.path.mkdir(parents=True)
    folder.log.write_text("".join(json.dumps(line) + "\n" for line in lines) + rest)


def drawn(sweep, height=10, width=120):
    console = Console(file=io.StringIO(), width=width)
    console.print(Watch(num_workers=1).table(sweep, height))
    return console.file.getvalue()


def test_a_run_is_where_its_log_says_even_if_half_a_line_is_written(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert moment(folder, ACCURACY).step == 0
    write_log(folder, LOG[:2], '{"step": 6, "lo')
    now = moment(folder, ACCURACY)
    assert (now.step, now.note, now.steps_per_second) == (5, "loss 2.000 validation 50.0%", 4.0)


def test_a_loss_that_is_no_number_is_not_shown(tmp_path):
    folder = RunFolder(tmp_path / "run")
    write_log(folder, LOG)
    assert moment(folder, ACCURACY).note == "validation 50.0%"


def test_the_table_shows_runs_that_move_first_and_counts_the_rest(tmp_path):
    sweep = begin(tmp_path)
    sweep.entries[2].standing = "running"
    write_log(RunFolder.of(tmp_path / "runs", RECIPES[2]), LOG)
    lines = drawn(sweep, height=2).splitlines()
    assert "0 of 3 runs done, 1 running" in lines[0]
    assert lines[2].split()[:5] == ["listops", "linear", "2", "running", "6/12"]
    assert "and 1 more" in lines[-1]


def test_names_and_the_time_left_are_whole_at_80_columns(tmp_path):
    sweep = begin(tmp_path)
    sweep.entries[2].standing = "running"
    write_log(RunFolder.of(tmp_path / "runs", RECIPES[2]), LOG)
    names = Names("pathfinder-256", "image-transformer", "0")
    sweep.entries[0].planned = dataclasses.replace(sweep.entries[0].planned, names=names)
    sweep.entries[0].standing, sweep.entries[0].reason = "failed", "no luck " * 20
    text = drawn(sweep, width=80)
    assert "pathfinder-256  image-transformer  0     failed" in text
    assert text.splitlines()[2].rstrip().endswith("3 s")
    assert max(map(len, text.splitlines())) <= 80


def test_what_a_run_says_is_neither_markup_nor_more_than_a_line(tmp_path):
    sweep = begin(tmp_path)
    sweep.entries[0].standing, sweep.entries[0].reason = "failed", "[red]no[/red] luck " * 40
    text = drawn(sweep)
    assert "[red]no[/red]" in text
    assert len(text.splitlines()) == 5


def test_the_time_left_is_shared_by_the_workers(tmp_path):
    sweep = begin(tmp_path)
    metrics = record().metrics.model_copy(update={"steps_per_second": 0.1})
    sweep.estimates.add_finished(record(recipe=RECIPES[0], metrics=metrics))
    assert "about 6 min left" in Watch(num_workers=1).title(sweep)
    assert "about 2 min left" in Watch(num_workers=3).title(sweep)
    assert "time left unknown" in Watch(num_workers=1).title(begin(tmp_path / "other"))


def test_a_log_file_gets_a_line_for_every_change(tmp_path):
    sweep = begin(tmp_path)
    console = Console(file=io.StringIO(), width=60)
    with display(console, Watch(num_workers=1)) as lines:
        assert isinstance(lines, Lines)
        lines.show(sweep)
        sweep.entries[1].standing = "running"
        lines.show(sweep)
        lines.show(sweep)
        sweep.entries[1].standing, sweep.entries[1].reason = "failed", "no luck " * 20
        lines.show(sweep)
    first, second = console.file.getvalue().splitlines()
    assert first.endswith(f"({RECIPES[1].id}): running")
    assert "failed: no luck" in second


def test_a_run_that_is_still_pretrained_says_so(tmp_path):
    recipe = pretrained(RECIPES[0], 8)
    sweep = begin(tmp_path, [recipe])
    sweep.entries[0].standing = "running"
    first = [{"step": 4, "loss": 2.0, "recovered": 0.25, "steps_per_second": 4.0}]
    write_log(RunFolder.of(tmp_path / "runs", start_of(recipe)), first)
    assert "pretraining 4/8 loss 2.000 recovered 25.0%" in drawn(sweep)
    write_log(RunFolder.of(tmp_path / "runs", recipe), LOG[:1])
    assert "loss 2.000 accuracy 25.0%" in drawn(sweep)
    assert "pretraining 4/8" not in drawn(sweep)
