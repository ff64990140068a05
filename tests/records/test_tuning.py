import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report.tunings import RATES, tuning_record

from longarena.records.folder import find_tuning_record, read_records, write_record
from longarena.records.merge import merge
from longarena.records.tuning import edge


def test_a_tuning_is_read_as_it_was_written(tmp_path):
    found = tuning_record(0.01)
    path = write_record(tmp_path, found)
    assert path.relative_to(tmp_path).parts[:2] == ("tuning", "transformer")
    assert read_records(tmp_path).tunings == [found]
    assert find_tuning_record(tmp_path, "transformer", found.id) == found
    path.write_text("{")
    assert find_tuning_record(tmp_path, "transformer", found.id) is None


def test_merging_carries_tunings_along_and_keeps_both_of_two_choices(tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    write_record(theirs, tuning_record(0.01))
    assert len(merge(theirs, ours).added) == 1
    assert len(merge(theirs, ours).known) == 1
    write_record(theirs, tuning_record(0.04))
    assert len(merge(theirs, ours).beside) == 1
    assert len(read_records(ours).tunings) == 2


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"candidates": []}, "none of the candidates"),
        ({"grid": {"optimiser.kind": [1]}}, "other keys"),
        ({"grid": {}}, "at least 1"),
        ({"rungs": []}, "at least 1"),
        ({"candidates": "all"}, "valid array"),
    ],
)
def test_a_tuning_that_does_not_fit_together_is_named_and_left_out(tmp_path, change, answer):
    path = write_record(tmp_path, tuning_record(0.01))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    found = read_records(tmp_path)
    assert found.tunings == []
    assert answer in found.unreadable[path]


def test_more_scores_than_comparisons_cannot_be(tmp_path):
    path = write_record(tmp_path, tuning_record(0.01))
    content = json.loads(path.read_text())
    content["candidates"][0]["scores"] *= 2
    path.write_text(json.dumps(content))
    assert "more scores" in read_records(tmp_path).unreadable[path]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_damage_to_a_tuning_is_fatal(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("store")
    path = write_record(folder, tuning_record(0.01))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    found = read_records(folder)
    assert len(found.tunings) + len(found.unreadable) == 1


@pytest.mark.parametrize(
    ("value", "tried", "found"),
    [
        (0.1, [0.3, 0.1, 0.2], "smallest"),
        (0.3, [0.3, 0.1, 0.2], "largest"),
        (0.2, [0.3, 0.1, 0.2], None),
        (1, [1, "all"], None),
        (True, [True, False], None),
    ],
)
def test_only_numbers_have_an_edge(value, tried, found):
    assert edge(value, tried) == found


def test_the_edges_of_a_tuning_are_those_of_its_choice():
    assert [tuning_record(rate).edges for rate in RATES] == [
        {"optimiser.rate": "smallest"},
        {},
        {"optimiser.rate": "largest"},
    ]
