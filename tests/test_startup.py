"""What only reads or explains starts at once: it imports nothing that computes."""

import json
import subprocess
import sys

import pytest
from report.stores import runs, write_store
from training.runs import small_recipe

from longarena.cli.main import app
from longarena.training.folder import RunFolder

HEAVY = {
    "altair",
    "jaxtyping",
    "lightning_fabric",
    "numba",
    "pooch",
    "ray",
    "requests",
    "sacrebleu",
    "tokenizers",
    "torch",
    "vl_convert",
}
# one process runs the commands one after another and says which heavy packages each left behind
SCRIPT = """
import contextlib, io, json, sys
from longarena.__main__ import main

found = {}
for words in json.loads(sys.argv[1]):
    sys.argv = ["longarena", *words.split()]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            main()
        except SystemExit as end:
            assert end.code == 0, words
    assert output.getvalue(), words
    found[words] = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps(found))
"""


def called(command):
    return command.name or command.callback.__name__


GROUPS = {group.name: group.typer_instance for group in app.registered_groups}
HELPS = [
    "--help",
    *(f"{called(command)} --help" for command in app.registered_commands),
    *(f"{name} --help" for name in GROUPS),
    *(
        f"{name} {called(command)} --help"
        for name, group in GROUPS.items()
        for command in group.registered_commands
    ),
]
LISTS = [
    "list",
    "list tasks",
    "list mixers",
    "list presets",
    "list runs",
    "list --families",
    "list mixers --families --json",
    "show recipe listops linear --set model.depth=3 --set task.max_length=600",
    f"show run {small_recipe().id}",
    f"show run {runs()[0].id} --store runs/records",
]


def imports(commands, folder):
    """Return the packages that each command has imported, or one before it."""
    done = subprocess.run(
        # the shell whose completion is asked for is looked for among the parents of a process
        [
            "bash",
            "-c",
            '"$@"; exit $?',
            "shell",
            sys.executable,
            "-c",
            SCRIPT,
            json.dumps(commands),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {words: set(names) for words, names in json.loads(done.stdout).items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with records and with a run that has begun."""
    path = tmp_path_factory.mktemp("arena")
    write_store(path / "runs" / "records")
    recipe = small_recipe()
    run = RunFolder.of(path / "runs", recipe)
    run.path.mkdir(parents=True)
    run.write_recipe(recipe)
    return path


def test_help_and_version_import_nothing_that_computes(folder):
    found = imports([*HELPS, "--version", "--show-completion"], folder)
    assert not {words: hit for words in found if (hit := found[words] & {*HEAVY, "numpy"})}


def test_lists_and_recipes_need_no_torch_and_no_compiler(folder):
    found = imports(LISTS, folder)
    assert not {words: hit for words in found if (hit := found[words] & HEAVY)}


def test_the_package_names_its_functions_before_it_imports_them():
    code = (
        "import sys, longarena\n"
        "assert 'torch' not in sys.modules\n"
        "assert set(longarena.__all__) <= set(dir(longarena))\n"
        "from longarena.measure.session import measure\n"
        "assert longarena.measure is measure\n"
        "assert longarena.__version__\n"
        "assert longarena.attention.Mixer\n"
        "assert not hasattr(longarena, 'nowhere')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
