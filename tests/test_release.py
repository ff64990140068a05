"""What is handed out: a wheel that works away from the repository, and an sdist that makes it."""

import ast
import email
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "longarena"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
EXTRAS = PROJECT["optional-dependencies"]


def named(requirements):
    """The names of packages in a list of requirements."""
    return {re.match(r"[\w-]+", each)[0] for each in requirements}


def installed():
    return named(PROJECT["dependencies"])


def files_of(folder):
    return {
        str(path.relative_to(ROOT))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the sdist, and the wheel from it, out of a copy of the files."""
    source = tmp_path_factory.mktemp("source")
    for name in ("longarena", "docs"):
        shutil.copytree(ROOT / name, source / name, ignore=LEFT_OUT)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, source)
    built = tmp_path_factory.mktemp("dist")
    words = ["-m", "build", "--no-isolation", "--outdir", str(built), str(source)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return built


@pytest.fixture(scope="module")
def wheel(dist):
    [path] = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory):
    """Install the wheel into an environment of its own, with its dependencies from here."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    words = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "pip", *words], env=environment, check=True)
    # a folder in a .pth file is only searched: the checkout that it may point to is not found
    [libraries] = home.glob("lib/python*/site-packages")
    (libraries / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    folder = tmp_path_factory.mktemp("elsewhere")

    def call(name, *words):
        done = subprocess.run(
            [home / "bin" / name, *words],
            cwd=folder,
            env=environment | {"LONGARENA_HOME": str(folder / "home")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.everywhere
@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        found = set(archive.namelist())
    assert {name for name in found if name.startswith("longarena/")} == files_of(PACKAGE)
    others = {name for name in found if not name.startswith("longarena/")}
    [facts] = {name.partition("/")[0] for name in others}
    assert f"{facts}/licenses/LICENSE" in others


@pytest.mark.everywhere
@pytest.mark.slow
def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        found = email.message_from_bytes(archive.read(name))
    assert found["License-Expression"] == "Apache-2.0"
    assert found["Requires-Python"] == PROJECT["requires-python"]
    assert found.get_all("Classifier") == PROJECT["classifiers"]
    assert found["Keywords"]
    assert (ROOT / "README.md").read_text()[:40] in found.get_payload()


@pytest.mark.everywhere
@pytest.mark.slow
def test_the_sdist_has_the_documents_too(dist):
    [path] = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    assert files_of(PACKAGE) | files_of(ROOT / "docs") <= found
    assert {"CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "mkdocs.yml"} <= found


@pytest.mark.everywhere
@pytest.mark.slow
def test_the_installed_wheel_works_away_from_the_repository(command):
    where = command("python", "-c", "import longarena; print(longarena.__file__)").strip()
    assert "environment" in where
    assert not Path(where).is_relative_to(ROOT)
    assert "Usage: longarena" in command("longarena", "--help")
    assert command("longarena", "--version").strip().endswith(PROJECT["version"])
    assert "listops" in command("longarena", "list")
    planned = json.loads(command("longarena", "sweep", "small", "--dry-run", "--json"))
    assert planned["count"] == planned["left"] > 0


def test_every_package_that_is_imported_is_a_dependency():
    """An import that something else happens to bring along fails in another environment."""
    imported = {
        name.partition(".")[0]
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    foreign = imported - sys.stdlib_module_names - {"longarena"}
    distributions = packages_distributions()
    declared = installed().union(*(named(EXTRAS[name]) for name in EXTRAS.keys() - {"dev", "docs"}))
    missing = {name for name in foreign if not declared & normalised(distributions.get(name, []))}
    assert not missing


def normalised(names):
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names}


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_dependency_has_its_reason_in_the_design(extra):
    design = (ROOT / "docs/design.md").read_text()
    wanted = named(EXTRAS[extra]) - {"longarena"} if extra else installed()
    assert not {name for name in wanted if f"`{name}`" not in design}


def test_a_dependency_that_is_gone_has_no_row():
    rows = re.search(r"## Dependencies\n(.*?)\n## ", (ROOT / "docs/design.md").read_text(), re.S)[1]
    assert set(re.findall(r"^\| `([\w-]+)` \|", rows, re.MULTILINE)) <= installed()
