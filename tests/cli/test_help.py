"""The help names what there is, though it imports none of it."""

import inspect

import pytest

from longarena.cli import named
from longarena.measure import session, work
from longarena.measure.span import span
from longarena.report import export
from longarena.report.patterns import pictures


@pytest.mark.parametrize(
    ("said", "there"),
    [
        (named.FORMATS, export.FORMATS),
        (named.SHAPES, tuple(work.SHAPES)),
        (named.LENGTHS, session.LENGTHS),
        (named.BATCH_SIZE, work.BATCH_SIZE),
        (named.SPAN_SAMPLES, inspect.signature(span).parameters["samples"].default),
        ((named.PICTURE_LENGTH, named.PICTURE_HEADS), (pictures.LENGTH, pictures.HEADS)),
    ],
    ids=["formats", "shapes", "lengths", "batch", "samples", "pictures"],
)
def test_the_help_says_what_there_is(said, there):
    assert said == there


def test_the_version_is_printed(run):
    code, output, _ = run("--version")
    assert (code, output) == (0, "longarena 0.1.0\n")


def test_completion_is_written_for_the_shell(run, monkeypatch):
    # the shell is looked for among the parents of this process, which may have none
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    code, output, _ = run("--show-completion")
    assert code == 0
    assert "complete" in output
