"""The site that `make docs` builds from docs/."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent


def pages(entries):
    """The files of a navigation, which has sections in it."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from pages([value] if isinstance(value, str) else value)


def test_every_page_has_its_place_in_the_navigation():
    found = list(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(found) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.slow
def test_the_site_is_built_without_a_broken_link_and_fetches_nothing(tmp_path):
    words = ["-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    html = "".join(path.read_text() for path in (tmp_path / "site").glob("*.html"))
    assert not re.findall(
        r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?https?://[^\" >]*", html
    )
    assert [*(tmp_path / "site/pictures").glob("arena-picture.svg")]
