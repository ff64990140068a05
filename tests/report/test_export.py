"""Exported tables against the records, read back by small parsers of their own."""

import csv
import json
import re
from statistics import mean, stdev

import pytest
from report import arena
from report.stores import ACCURACIES, HTML, PEAKS, SPEEDS, runs, write_store

from longarena.errors import UserError
from longarena.findings.published import PAPER
from longarena.records.folder import Records, read_records
from longarena.report.export import FORMATS, export

TITLES = {"transformer": "Transformer", "linear": "Linear Transformer", HTML: HTML}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return read_records(write_store(tmp_path_factory.mktemp("store")))


def read_csv(path):
    """Rows by the name in their first column."""
    with path.open(newline="") as file:
        return {next(iter(row.values())): row for row in csv.DictReader(file)}


def read_latex(path):
    """The cells of a LaTeX table, unescaped, by the first of each row."""
    text = path.read_text()
    lines = [line for line in text.splitlines() if line.endswith(r" \\")]
    rows = [re.split(r"(?<!\\) & ", line.strip().removesuffix(r" \\")) for line in lines]
    words = {r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"$\times$": "x"}
    for raw, plain in words.items():
        rows = [[cell.replace(raw, plain) for cell in row] for row in rows]
    rows = [[re.sub(r"\\([&%$#_{}])", r"\1", cell) for cell in row] for row in rows]
    return {row[0]: row[1:] for row in rows}


def raw_accuracies(store):
    """What the JSON files say, read without this project."""
    found = {}
    for path in store.rglob("*.json"):
        record = json.loads(path.read_text())
        if record["kind"] == "run":
            mixer = record["recipe"]["model"]["mixer"]
            found.setdefault(mixer, []).append(record["metrics"]["test"]["value"])
    return found


def test_the_accuracies_of_a_csv_file_are_those_of_the_records(tmp_path):
    store = write_store(tmp_path / "store")
    (path, *others) = export(read_records(store), "scores", "csv", tmp_path / "out")
    rows = read_csv(path) | {key: row for other in others for key, row in read_csv(other).items()}
    found = raw_accuracies(store)
    assert set(found) == set(ACCURACIES)
    for mixer, accuracies in found.items():
        row = rows[TITLES[mixer]]
        column = next(name for name in row if name.startswith("ListOps"))
        assert float(row[column]) == pytest.approx(100 * mean(accuracies))
        assert float(row[f"{column} spread"]) == pytest.approx(100 * stdev(accuracies))


def test_the_last_rows_are_the_mean_over_mechanisms_and_no_model(records, tmp_path):
    rows = read_csv(export(records, "scores", "csv", tmp_path)[0])
    column = next(name for name in rows["Transformer"] if name.startswith("ListOps"))
    means = [100 * mean(found) for found in ACCURACIES.values()]
    assert float(rows["Mean over mechanisms"][column]) == pytest.approx(mean(means))
    assert float(rows["Mean over mechanisms"][f"{column} spread"]) == pytest.approx(stdev(means))
    assert float(rows["Without a model"][column]) == pytest.approx(17.0)


def test_speed_and_memory_of_a_csv_file_are_those_of_the_records(records, tmp_path):
    speed = read_csv(export(records, "speed", "csv", tmp_path)[0])
    memory = read_csv(export(records, "memory", "csv", tmp_path)[0])
    for (mixer, length), value in SPEEDS.items():
        column = {1024: "1K", 4096: "4K"}[length]
        if value is None:
            assert speed[TITLES[mixer]][column] == "out of memory"
        else:
            assert float(speed[TITLES[mixer]][column]) == value
            assert float(memory[TITLES[mixer]][column]) == PEAKS[mixer] * length // 1024
            ratio = float(speed[TITLES[mixer]][f"{column} note"].strip("\N{MULTIPLICATION SIGN}"))
            assert ratio == pytest.approx(value / SPEEDS["transformer", length], abs=0.005)


def test_a_latex_table_has_the_numbers_and_the_best_in_bold(records, tmp_path):
    (path,) = export(records, "speed", "latex", tmp_path)
    rows = read_latex(path)
    assert rows["Transformer"] == ["4.00 (1.00x)", "0.500 (1.00x)"]
    assert rows["Linear Transformer"] == [r"\textbf{5.00} (1.25x)", r"\textbf{1.25} (2.50x)"]
    assert rows[HTML] == ["3.00 (0.75x)", "out of memory"]
    text = path.read_text()
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert r"\begin{tabular}{lrr}" in text
    assert text.count("{") == text.count("}")


def test_the_least_memory_is_the_best(records, tmp_path):
    rows = read_latex(export(records, "memory", "latex", tmp_path)[0])
    assert rows["Linear Transformer"][0] == r"\textbf{128 MiB} (0.25x)"
    assert rows["Transformer"][0] == "512 MiB (1.00x)"


def test_a_spread_has_the_decimals_of_its_number(records, tmp_path):
    rows = read_latex(export(records, "scores", "latex", tmp_path)[0])
    assert rows["Transformer"][0] == r"\textbf{37.0 $\pm$ 1.4}"


def test_an_exported_table_of_counts_is_of_one_length(records, tmp_path):
    paths = export(records, "cost", "csv", tmp_path)
    assert [path.name for path in paths] == ["cost-1024.csv", "cost-4096.csv"]
    row = read_csv(paths[1])["Transformer"]
    kinds = ["Parameters", "Attention", "Convolution", "Feed-forward", "Training step"]
    assert [float(row[kind]) for kind in kinds] == [80_000, 4096, 0, 2000, 3 * 4096]
    (path,) = export(records, "cost-4096", "markdown", tmp_path)
    assert path.name == "cost-4096.md"


def test_the_growth_is_fitted_to_the_records(records, tmp_path):
    rows = read_csv(export(records, "growth", "csv", tmp_path)[0])
    assert float(rows["Transformer"]["Time"]) == pytest.approx(1.5)
    assert float(rows["Linear Transformer"]["Time"]) == pytest.approx(1.0)
    assert float(rows["Transformer"]["Mult-Adds of the mixer"]) == pytest.approx(2.0)
    assert rows["Transformer"]["Verdict"] == ""
    assert rows["Linear Transformer"]["Verdict"] == "above its claim"


def test_ours_stand_beside_the_papers_as_ratios(records, tmp_path):
    rows = read_csv(export(records, "ratios", "csv", tmp_path)[0])
    linear = rows["Linear Transformer"]
    assert float(linear["Speed"]) == 2.5
    assert float(linear["Speed in the paper"]) == pytest.approx(7.8 / 1.4)
    assert float(linear["Memory"]) == 0.25
    assert float(linear["Memory in the paper"]) == pytest.approx(1.03 / 9.48)
    assert HTML not in rows  # it has no number at 4K


def test_families_have_every_mechanism_and_its_standing(records, tmp_path):
    with export(records, "families", "csv", tmp_path)[0].open(newline="") as file:
        rows = {row["Mechanism"]: row for row in csv.DictReader(file)}
    assert rows["Linear Transformer"]["Family"] == "kernels"
    assert float(rows["Linear Transformer"]["Speed"]) == 2.5
    assert rows["Linear Transformer"]["Speed note"] == "1 of 2"
    assert float(rows["Transformer"]["Score"]) == pytest.approx(37.0)
    assert rows["Performer"]["Speed"] == "\N{EN DASH}"


def test_published_numbers_need_no_records(tmp_path):
    paths = export(Records(), "published", "csv", tmp_path)
    rows = read_csv(paths[0])
    for row in PAPER.rows:
        assert float(rows[row.system]["Text"]) == row.accuracies[1]
        assert rows[row.system]["Path-X"] == "fail"


def test_a_partial_average_says_of_how_many_tasks(records, tmp_path):
    text = export(records, "scores", "markdown", tmp_path)[0].read_text()
    assert "| **37.0** (1 of 5 tasks) |" in text
    assert "| 30.5 (1 of 5 tasks) |" in text


def test_free_results_are_a_table_of_their_own_without_a_best(tmp_path):
    found = runs()
    others = [run for run in found if run.recipe.model.mixer != "transformer"]
    found += [run.model_copy(update={"recipe": changed(run.recipe)}) for run in others]
    paths = export(Records(runs=found), "scores", "markdown", tmp_path)
    assert [path.name for path in paths] == ["scores-arena-quick.md", "scores-arena-quick-free.md"]
    assert "**" in paths[0].read_text()
    assert "**" not in paths[1].read_text()


def test_results_that_were_all_changed_alike_are_a_table_of_their_own_with_a_best(tmp_path):
    found = [run.model_copy(update={"recipe": changed(run.recipe)}) for run in runs()]
    [path] = export(Records(runs=found), "scores", "markdown", tmp_path)
    assert path.name == "scores-arena-quick-changed.md"
    assert "**" in path.read_text()
    assert f"preset quick with steps={found[0].recipe.steps}" in path.read_text()


def changed(recipe):
    return recipe.model_copy(update={"steps": recipe.steps + 1})


def test_a_preset_cannot_name_a_place_outside_of_the_folder(tmp_path):
    evil = runs()[0]
    evil = evil.model_copy(
        update={"recipe": evil.recipe.model_copy(update={"preset": "../../../evil"})}
    )
    paths = export(Records(runs=[evil]), "all", "csv", tmp_path / "out")
    assert all(path.parent == tmp_path / "out" for path in paths)
    assert any("evil" in path.name for path in paths)


@pytest.mark.parametrize(
    ("what", "kind", "answer"),
    [
        ("spedd", "csv", "did you mean speed"),
        ("speed", "docx", "known: csv, latex, markdown, pdf, png, svg"),
        ("spans", "latex", "spans is a chart; choose the format svg, png or pdf"),
        ("families", "svg", "families is a table; choose the format latex, markdown or csv"),
        ("speed-7", "csv", "unknown table 'speed-7'"),
        ("speed-7", "svg", "unknown chart 'speed-7'"),
    ],
)
def test_a_name_or_format_that_is_not_there_is_refused(records, what, kind, answer, tmp_path):
    with pytest.raises(UserError, match=re.escape(answer)):
        export(records, what, kind, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", FORMATS)
def test_an_empty_store_is_told_with_the_remedy(kind, tmp_path):
    with pytest.raises(UserError, match="run: longarena train"):
        export(Records(), "all", kind, tmp_path)
    with pytest.raises(UserError, match="no records for speed yet; run: longarena measure"):
        export(Records(), "speed", kind, tmp_path)


def test_a_column_names_what_its_data_has_that_the_preset_has_not(tmp_path):
    found = [
        arena.run("listops", "transformer", 0, "cpu"),
        arena.run("retrieval", "transformer", 0, "cpu", sets=["task.data=aan-mini"]),
    ]
    text = export(Records(runs=found), "scores", "markdown", tmp_path)[0].read_text()
    assert text.splitlines()[0] == "| Mechanism | ListOps | Retrieval, aan-mini | Average |"


@pytest.mark.parametrize("tasks", [("listops",), ("listops", "image")])
def test_the_best_comes_first(tasks, tmp_path):
    mixers = ("transformer", "local", "linear", "performer")
    found = [arena.run(task, mixer, 0) for task in tasks for mixer in mixers]
    text = export(Records(runs=found), "scores", "csv", tmp_path)[0].read_text()
    rows = [line.split(",") for line in text.splitlines()[1:5]]
    places = range(1, 1 + 3 * len(tasks), 3)
    scores = [sum(float(row[place]) for place in places) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4


def test_nothing_that_a_constant_answer_scores_is_the_best(tmp_path):
    found = [
        arena.run("listops", "transformer", 0),
        arena.run("image", "transformer", 0, status="collapsed"),
        arena.run("image", "linear", 0, status="collapsed"),
    ]
    text = export(Records(runs=found), "scores", "markdown", tmp_path)[0].read_text()
    (row,) = (line for line in text.splitlines() if line.startswith("| Transformer |"))
    listops, image = row.split("|")[2:4]
    assert "**" in listops
    assert "**" not in image
    assert "collapsed" in image


def test_the_share_of_the_machine_is_operations_by_time(tmp_path):
    found = [arena.measurement("linear", 1024), arena.measurement("linear", 2048)]
    rows = read_csv(export(Records(measurements=found), "limit", "csv", tmp_path)[0])
    for record, column in zip(found, ("1K", "2K"), strict=True):
        tokens_per_second = record.metrics.steps_per_second * record.batch_size * record.length
        operations = 2 * record.cost.training_step * tokens_per_second
        expected = 100 * operations / record.limits.flops_per_second
        assert float(rows["Linear Transformer"][column]) == pytest.approx(expected)


def test_without_limits_there_is_no_share_of_them(records, tmp_path):
    with pytest.raises(UserError, match="run: longarena measure"):
        export(records, "limit", "csv", tmp_path)


def test_curves_are_exported_over_steps_and_seconds(records, tmp_path):
    (path,) = export(records, "curves", "csv", tmp_path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    curve = records.runs[0].curve
    own = [row for row in rows if row["Run"] == records.runs[0].id]
    assert len(rows) == sum(len(run.curve.steps) for run in records.runs)
    assert [int(row["Step"]) for row in own] == curve.steps
    assert [float(row["Seconds"]) for row in own] == curve.seconds
    assert [float(row["Validation"]) for row in own] == pytest.approx(
        [100 * value for value in curve.values]
    )


def test_every_run_is_a_row(records, tmp_path):
    rows = read_csv(export(records, "runs", "csv", tmp_path)[0])
    assert set(rows) == {run.id for run in records.runs}
