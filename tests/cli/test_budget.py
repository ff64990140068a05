"""A budget of Mult-Adds at the command line: a recipe above it never starts."""

import pytest
from cli.commands import SMALL_WORDS, assert_refused


@pytest.fixture
def train(run):
    words = ["train", "listops", "linear", *SMALL_WORDS, "--quiet", "--max-mult-adds"]
    return lambda limit: run(*words, limit)


@pytest.mark.parametrize(
    ("limit", "answer"),
    [("10K", "more than --max-mult-adds 10K; lower model.width"), ("ten", "write 500M, 1.5G")],
)
def test_what_is_above_the_budget_is_refused_before_anything_is_written(
    train, tmp_path, limit, answer
):
    assert_refused(train(limit), answer)
    assert list(tmp_path.iterdir()) == []


def test_what_is_within_the_budget_is_trained(train, tmp_path):
    code, _, errors = train("1G")
    assert code == 0, errors
    assert list(tmp_path.glob("runs/listops/linear/*/record.json"))
