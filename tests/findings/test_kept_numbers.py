import pytest

from longarena.findings import kept_numbers
from longarena.findings.kept_numbers import kept


def never():
    raise AssertionError("this is known")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index" / "numbers.txt"


def test_a_number_is_computed_once(path):
    assert kept(path, "a", lambda: 0.1 + 0.2) == 0.1 + 0.2
    assert kept(path, "b", lambda: 7.0) == 7.0
    assert kept(path, "a", never) == 0.1 + 0.2
    assert kept(path, "b", never) == 7.0


@pytest.mark.parametrize("place", [2, 6, -3])
def test_a_damaged_line_does_not_count(path, place):
    kept(path, "a", lambda: 12345.0)
    kept(path, "b", lambda: 7.0)
    lines = path.read_text().split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("a"))
    letters = list(lines[at])
    letters[place] = "8" if letters[place] != "8" else "9"
    lines[at] = "".join(letters)
    path.write_text("\n".join(lines))
    assert kept(path, "a", lambda: 54321.0) == 54321.0
    assert kept(path, "b", never) == 7.0


def test_a_line_that_was_cut_off_spoils_no_other(path):
    kept(path, "a", lambda: 1.0)
    path.write_bytes(path.read_bytes()[:-5])
    kept(path, "b", lambda: 2.0)
    assert kept(path, "b", never) == 2.0
    assert kept(path, "a", lambda: 3.0) == 3.0


def test_without_a_place_it_is_computed_again(tmp_path):
    (tmp_path / "taken").write_text("")
    for number in (1.0, 2.0):
        assert kept(tmp_path / "taken" / "numbers.txt", "a", lambda n=number: n) == number


def test_a_full_file_begins_anew(path, monkeypatch):
    monkeypatch.setattr(kept_numbers, "MAX_BYTES", 50)
    for number in range(9):
        kept(path, f"{number}", lambda n=number: float(n))
    assert path.stat().st_size < 100
