"""The digest of a class from outside follows the files that it is made of."""

import sys

import pytest

from longarena.loading import load_class, source_digest


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """Write files into a folder on the path, and return the digest of a class in one of them."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write_and_digest(name, **files):
        for module in set(sys.modules) - before:
            del sys.modules[module]
        for file, text in files.items():
            path = tmp_path / f"{file.replace('_', '/', 1)}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return source_digest(load_class("thing", name, object, []))

    yield write_and_digest
    for module in set(sys.modules) - before:
        del sys.modules[module]


def test_an_edit_of_the_file_is_another_source(digest):
    first = digest("one:A", one="class A: x = 1")
    assert digest("one:A", one="class A: x = 1") == first
    assert digest("one:A", one="class A: x = 22") != first


def test_an_edit_of_a_file_beside_it_that_it_uses_is_another_source(digest):
    text = "import math\nfrom two import f\nclass A: g = f"
    first = digest("one:A", one=text, two="def f(): return 1", three="x = 1")
    assert digest("one:A", one=text, three="x = 33") == first
    assert digest("one:A", one=text, two="def f(): return 22") != first


def test_a_package_counts_as_far_as_it_is_used(digest):
    text = "from pack import two\nclass A: g = two.f"
    first = digest("pack.one:A", pack_one=text, pack_two="def f(): return 1", pack___init__="")
    assert first != digest("pack.one:A", pack_two="def f(): return 22")
