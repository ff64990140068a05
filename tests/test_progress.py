import io

import pytest
from rich.console import Console

from longarena.progress import SILENT, LineProgress, TerminalProgress


@pytest.fixture
def lines():
    return io.StringIO()


def test_a_log_gets_a_line_with_count_rate_and_note(lines):
    with LineProgress(Console(file=lines)).bar("training", total=4, done=1) as bar:
        bar.advance(2)
        bar.advance(1, note="loss 0.5")
    assert lines.getvalue().startswith("training: 4/4, ")
    assert lines.getvalue().rstrip().endswith("/s, loss 0.5")


def test_a_log_is_told_the_time_left_now_and_then(lines, monkeypatch):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr("longarena.progress.time.monotonic", lambda: float(next(clock)))
    with LineProgress(Console(file=lines)).bar("preparing", total=3) as bar:
        bar.advance()
        bar.advance()
    first = lines.getvalue().splitlines()[0]
    assert first.startswith("preparing: 1/3")
    assert "s left" in first


def test_a_terminal_gets_a_bar_with_the_note(lines):
    console = Console(file=lines, force_terminal=True, width=120)
    with TerminalProgress(console).bar("training", total=2) as bar:
        bar.advance(2, note="accuracy 33 %")
    assert "training" in lines.getvalue()
    assert "2/2" in lines.getvalue()
    assert "accuracy 33 %" in lines.getvalue()


def test_words_in_brackets_are_shown_as_they_are(lines):
    LineProgress(Console(file=lines)).say("[MAX 1 2 ]")
    assert lines.getvalue() == "[MAX 1 2 ]\n"


def test_silence_says_nothing(capsys):
    with SILENT.bar("training", total=1) as bar:
        bar.advance()
    SILENT.say("anything")
    assert capsys.readouterr() == ("", "")
