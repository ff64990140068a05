"""A text of the user's: named by its path, known by its name and what it holds."""

import pytest

from longarena.errors import UserError
from longarena.findings.changes import command
from longarena.recipes.presets import PRESETS, preset
from longarena.recipes.recipe import build_task, override
from longarena.tasks import build
from longarena.tasks.base import SPLITS, default_home
from longarena.tasks.prepare import open_prepared, prepare
from longarena.training.folder import RunFolder

TEXT = b"The quick brown fox jumps over the lazy dog. " * 50


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A file in a folder beside the one in which commands are called."""
    (tmp_path / "books").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    path = tmp_path / "books" / "book.txt"
    path.write_bytes(TEXT)
    return path


def test_a_path_is_a_task(book):
    recipe = preset("../books/book.txt", "linear")
    task = build_task(recipe)
    assert (recipe.task.name, task.card.name, task.card.title) == ("book.txt", "book.txt", "book")
    assert task.signature.track == "language"
    data = open_prepared(task, default_home())
    parts = [data.split(split).sequence(0).tobytes() for split in SPLITS]
    assert b"".join(parts) == TEXT
    assert [len(part) for part in parts] == [2025, 112, 113]


def test_the_recipe_does_not_depend_on_how_the_path_is_written(book, monkeypatch):
    first = preset("../books/book.txt", "linear")
    assert preset(str(book), "linear") == first
    monkeypatch.chdir(book.parent)
    assert preset("book.txt", "linear").id == first.id
    assert str(book.parent) not in first.model_dump_json()


def test_another_content_is_another_run(book):
    first = preset(str(book), "linear")
    book.write_bytes(TEXT + b"!")
    second = preset(str(book), "linear")
    assert second.task.name == first.task.name
    assert second.id != first.id
    # what was prepared first is still there
    assert open_prepared(build_task(first), default_home()).split("test").tokens[-1] == ord(" ")


def test_a_recipe_finds_its_text_without_the_file(book):
    recipe = preset(str(book), "linear")
    book.unlink()
    assert open_prepared(build_task(recipe), default_home())
    named = preset("book.txt", "linear")
    assert override(named, [f"task.data={recipe.task.data}"]) == recipe
    with pytest.raises(UserError, match=f"--set task.data={recipe.task.data}"):
        open_prepared(build_task(named), default_home())


def test_its_command_says_which_text_is_meant(book):
    recipe = preset(str(book), "linear")
    words = "longarena train book.txt linear --preset quick --seed 0 --set"
    assert command(recipe) == f"{words} task.data={recipe.task.data}"


def test_a_file_without_a_dot_in_its_name_is_a_text_too(book, monkeypatch):
    book.rename(book.parent / "README")
    monkeypatch.chdir(book.parent)
    recipe = preset("README", "linear")
    assert recipe.task.name == "./README"
    assert preset("./README", "linear") == recipe
    assert build_task(recipe).card.name == "README"
    folder = RunFolder.of(book.parent / "runs", recipe).path
    assert folder.relative_to(book.parent).parts == ("runs", "README", "linear", recipe.id)


def test_a_task_of_the_table_comes_before_a_file_of_its_name(book, monkeypatch):
    book.rename(book.parent / "listops")
    monkeypatch.chdir(book.parent)
    assert preset("listops", "linear").task.name == "listops"
    with pytest.raises(UserError, match="as a built-in task does; rename it"):
        preset("./listops", "linear")


@pytest.mark.parametrize(
    ("content", "answer"),
    [(b"", "is empty"), (b"too short", "has 9 bytes"), (None, "a folder of data")],
)
def test_what_cannot_be_split_is_refused_in_one_line(book, content, answer):
    if content is None:
        book.unlink()
        book.mkdir()
    else:
        book.write_bytes(content)
    with pytest.raises(UserError, match=answer) as refusal:
        preset(str(book), "linear")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["nowhere/book.txt", "../nowhere/README"])
def test_a_path_that_leads_nowhere_is_refused(book, name):
    with pytest.raises(UserError, match=f"{name} does not exist"):
        preset(name, "linear")


def test_a_name_that_is_neither_a_task_nor_a_file_is_refused(book):
    with pytest.raises(UserError, match=r"other\.txt is neither a task nor a file here"):
        open_prepared(build_task(preset("other.txt", "linear")), default_home())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_looks_for_no_file(name, monkeypatch):
    """Records name files of other people; to show them is not to read them."""
    monkeypatch.setattr("pathlib.Path.exists", lambda path: pytest.fail(f"looked for {path}"))
    recipe = PRESETS[name]("secret.txt", "linear", 0)
    assert recipe is None or recipe.task.data == ""


def test_another_file_cannot_be_passed_off_as_the_text(book, tmp_path):
    task = build("book.txt", {}, data="0123456789ab")
    with pytest.raises(UserError, match="is not the text 0123456789ab"):
        prepare(task, tmp_path, book)
