import pytest

from longarena.errors import UserError, complete, unknown

MANY = [f"{number:06d}" for number in range(50_000)]


def test_one_line_stays_short_however_many_names_there_are():
    with pytest.raises(UserError, match="begins several runs: 000000, 000001") as refused:
        complete("run", "00", MANY)
    assert len(str(refused.value)) < 400
    assert len(str(unknown("run", "abc", MANY))) < 1000
    assert "and 49,900 more" in str(unknown("run", "abc", MANY))


def test_a_unique_beginning_is_found_among_many():
    assert complete("run", "00421", MANY[:5000:10]) == "004210"
