import json
import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.records.folder import find_run_record, read_records, record_path, write_record
from longarena.records.parsing import MAX_BYTES
from longarena.records.record import Curve, RunMetrics, RunRecord, SplitScore
from longarena.runtime import machine, versions
from longarena.tracks.metric import ACCURACY


def record(**changes):
    score = SplitScore(value=0.4, error=0.15, loss=1.5, weight=10, examples=10)
    recipe = small_recipe()
    plain = RunRecord(
        id=recipe.id,
        recipe=recipe,
        metric=ACCURACY,
        variant="",
        fingerprint="0" * 16,
        status="finished",
        metrics=RunMetrics(
            valid=score,
            test=score,
            level=0.2,
            best_step=5,
            steps=12,
            steps_per_second=3.0,
            tokens_per_second=100.0,
            peak_resident_bytes=1,
            parameters=2,
            padding_share=0.1,
            train_seconds=4.0,
        ),
        curve=Curve(steps=[5], seconds=[1.5], values=[0.4]),
        machine=machine(),
        versions=versions(),
        finished_at="2026-01-01T00:00:00+00:00",
    )
    return plain.model_copy(update=changes)


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = write_record(tmp_path, record())
    assert path == record_path(tmp_path, record())
    assert path.relative_to(tmp_path).parts[:2] == ("listops", "linear")
    assert read_records(tmp_path).runs == [record()]


def test_a_file_that_is_no_record_is_named_and_left_out(tmp_path):
    path = write_record(tmp_path, record())
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "foreign.json").write_text('{"hello": 1}')
    newer = json.loads(path.read_text()) | {"format": 99}
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    found = read_records(tmp_path)
    assert found.runs == [record()]
    assert {p.name for p in found.unreadable} == {"empty.json", "foreign.json", "newer.json"}
    assert all("\n" not in reason for reason in found.unreadable.values())


def test_a_record_is_written_once_and_never_overwritten(tmp_path):
    path = write_record(tmp_path, record())
    assert write_record(tmp_path, record()) == path
    before = path.read_bytes()
    again = write_record(tmp_path, record(finished_at="2027-01-01T00:00:00+00:00"))
    assert again.name.startswith(f"{path.stem}-")
    assert path.read_bytes() == before
    assert len(read_records(tmp_path).runs) == 2


def test_what_lies_where_a_record_belongs_is_left_alone(tmp_path):
    path = record_path(tmp_path, record())
    path.mkdir(parents=True)
    assert write_record(tmp_path, record()) != path
    assert read_records(tmp_path).runs == [record()]


def test_a_record_that_could_not_be_read_back_is_not_written(tmp_path):
    metrics = record().metrics.model_copy(update={"steps_per_second": float("inf")})
    with pytest.raises(UserError, match="could not be read back"):
        write_record(tmp_path, record(metrics=metrics))
    assert not list(tmp_path.rglob("*.json"))


def test_a_record_is_found_by_its_recipe_and_trusted_only_if_it_is_its_own(tmp_path):
    recipe = small_recipe()
    other = small_recipe("linear", "seed=1")
    path = write_record(tmp_path, record(recipe=other))
    assert path.stem == recipe.id, "it says to be the run of a recipe that it does not hold"
    assert find_run_record(tmp_path, recipe) is None
    write_record(tmp_path, record())
    assert find_run_record(tmp_path, recipe) == record()


def test_a_file_that_is_far_too_large_is_not_read(tmp_path):
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "more than a record has" in next(iter(read_records(tmp_path).unreadable.values()))


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert read_records(tmp_path / "nowhere").runs == []


def with_value(path, value, *keys):
    """The text of a record with one value replaced by a piece of JSON."""
    content = json.loads(path.read_text())
    section = content
    for key in keys[:-1]:
        section = section[key]
    section[keys[-1]] = "HERE"
    return json.dumps(content).replace('"HERE"', value)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("metrics", "steps"), "9" * 4000),
        (("metrics", "steps"), "9" * 30),
        (("metrics", "steps_per_second"), "NaN"),
        (("metrics", "steps_per_second"), "-Infinity"),
        (("metrics", "test", "accuracy"), "1e999"),
        (("metrics", "test", "accuracy"), '"much"'),
        (("metrics", "test"), "3"),
        (("metrics",), "[]"),
        (("recipe", "task", "name"), "null"),
        (("recipe", "task", "name"), '"\\ud800"'),
        (("recipe", "optimiser", "rate"), "1e400"),
        (("kind",), '"story"'),
        (("kind",), "[]"),
        (("status",), '"unheard of"'),
        (("more\n\u001b[31m",), "1"),
        (("curve", "steps"), "[" * 5000 + "]" * 5000),
        (("metrics", "test", "value"), "1.5"),
        (("metrics", "test", "examples"), "0"),
        (("metrics", "test", "weight"), "0"),
        (("metrics", "test", "error"), "-1"),
        (("metrics", "steps_per_second"), "-1"),
        (("metrics", "padding_share"), "2"),
        (("recipe", "seed"), "100000000000000000"),
        (("recipe", "task", "options"), '{"x": [1e999]}'),
        (("id",), '""'),
        (("id",), f'"{"x" * 300}"'),
        (("recipe", "model", "mixer"), f'"{"x" * 300}"'),
    ],
)
def test_a_record_with_a_value_that_cannot_be_is_named_and_left_out(tmp_path, keys, value):
    path = write_record(tmp_path, record())
    path.with_name("damaged.json").write_text(with_value(path, value, *keys))
    found = read_records(tmp_path)
    assert found.runs == [record()]
    [(named, reason)] = found.unreadable.items()
    assert named.name == "damaged.json"
    assert reason.isprintable()
    assert 0 < len(reason) <= 200


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_damage_to_a_file_is_fatal(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("store")
    path = write_record(folder, record())
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    found = read_records(folder)
    assert len(found.runs) + len(found.unreadable) == 1


def test_what_is_no_file_is_named_and_left_out(tmp_path):
    write_record(tmp_path, record())
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "lost.json").symlink_to("nowhere.json")
    (tmp_path / "up").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "pipe.json")
    found = read_records(tmp_path)
    assert found.runs == [record()]
    names = {path.name for path in found.unreadable}
    assert names == {"folder.json", "loop.json", "lost.json", "pipe.json"}


def test_a_file_that_may_not_be_read_is_named_and_left_out(tmp_path, monkeypatch):
    path = write_record(tmp_path, record())

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(path), "read_text", refuse)
    assert read_records(tmp_path).unreadable == {path: "Permission denied"}


def test_a_record_never_leaves_the_store(tmp_path):
    hostile = record(id="../../../etc/x")
    assert record_path(tmp_path, hostile).resolve().is_relative_to(tmp_path.resolve())


@pytest.mark.slow
def test_thousands_of_records_are_read_in_under_two_seconds(tmp_path):
    plain = record(curve=Curve(steps=list(range(20)), seconds=[1.0] * 20, values=[1 / 3] * 20))
    text = plain.model_dump_json(indent=2)
    for i in range(5000):
        (tmp_path / f"{i}.json").write_text(text)
    start = time.process_time()
    assert len(read_records(tmp_path).runs) == 5000
    # of this process: other processes may have the cores
    assert time.process_time() - start < 2
