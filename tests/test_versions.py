"""The numbers that `docs/versions.md` states are those of the code."""

import re
import tomllib
from pathlib import Path
from typing import get_args

from longarena import tasks
from longarena.data.dataset import FORMAT
from longarena.records.record import Record

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/versions.md").read_text()
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_formats_are_those_of_the_page():
    [number] = {kind.model_fields["format"].default for kind in get_args(Record)}
    assert f"| records | format {number} |" in PAGE
    assert f"| datasets | format {FORMAT} |" in PAGE


def test_the_package_has_one_version():
    assert f"| the package | {VERSION} |" in PAGE
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_versions_of_the_tasks_are_those_of_the_page():
    rows = dict(re.findall(r"^\| (?:`([\w-]+)`|any other) \| (\d+) \|", PAGE, re.MULTILINE))
    found = {name: str(tasks.build(name, {}).card.version) for name in tasks.TASKS}
    assert found == {name: rows.get(name, rows[""]) for name in found}
    assert rows.keys() - {""} <= found.keys()
