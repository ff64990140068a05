import json

from training.runs import small_recipe

from longarena.runtime import machine, versions
from longarena.store.folder import read_records, record_path, write_record
from longarena.store.record import Curve, RunMetrics, RunRecord, SplitScore


def record(**changes):
    score = SplitScore(accuracy=0.4, loss=1.5, examples=10)
    recipe = small_recipe()
    plain = RunRecord(
        id=recipe.id,
        recipe=recipe,
        variant="",
        fingerprint="0" * 16,
        status="finished",
        metrics=RunMetrics(
            valid=score,
            test=score,
            majority=0.2,
            best_step=5,
            steps=12,
            steps_per_second=3.0,
            tokens_per_second=100.0,
            peak_resident_bytes=1,
            parameters=2,
            padding_share=0.1,
            train_seconds=4.0,
        ),
        curve=Curve(steps=[5], valid_accuracy=[0.4]),
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


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert read_records(tmp_path / "nowhere").runs == []
