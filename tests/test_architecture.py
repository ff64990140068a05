"""A folder imports only from folders above it in this list; nobody imports upwards."""

import ast
from pathlib import Path

import longarena

ROOT = Path(longarena.__file__).parent
LAYERS = [
    ["errors", "lazy", "printable", "version"],
    ["loading", "options", "shapes", "seeding", "table"],
    ["progress", "runtime"],
    ["data"],
    ["tasks"],
    ["attention"],
    ["model"],
    ["tracks"],
    ["inference"],
    ["recipes"],
    ["records"],
    ["findings"],
    ["training"],
    ["measure"],
    ["sweeps"],
    ["contract"],
    ["sweep"],
    ["choose"],
    ["report"],
    ["cli"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
FILES = [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT or path.stem in RANK]
# which part each public name of the package is from
PUBLIC = {
    alias.name: node.module.split(".")[1]
    for node in ast.walk(ast.parse((ROOT / "__init__.py").read_text()))
    if isinstance(node, ast.ImportFrom) and node.module.startswith("longarena.")
    for alias in node.names
}


def imported_layers(path):
    """The parts of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "longarena":
            yield from (PUBLIC.get(alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("longarena."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("longarena."))


def imports_from_below(path):
    """The parts below its own from which a file imports."""
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return {layer for layer in imported_layers(path) if RANK[layer] > RANK[own]}


def test_imports_point_upwards_in_the_list():
    offences = {str(path): found for path in FILES if (found := imports_from_below(path))}
    assert not offences


def test_every_folder_has_its_place_in_the_list():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(RANK)


def test_every_file_opens_with_its_idea():
    paths = sorted(ROOT.rglob("*.py"))
    assert not [str(path) for path in paths if not ast.get_docstring(ast.parse(path.read_text()))]
