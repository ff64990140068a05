"""A folder imports only from folders above it in this list; nobody imports upwards."""

import ast
from pathlib import Path

import longarena

ROOT = Path(longarena.__file__).parent
LAYERS = [
    ["errors", "lazy", "printable", "version"],
    ["loading", "options", "shapes", "seeding", "table"],
    ["fork_server", "progress", "runtime"],
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
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
} - {"longarena"}
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


def loaded_at_once(name):
    """The modules that a module loads at its top, with their folders."""
    path = ROOT.parent / Path(*name.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("longarena."):
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            inner = [each for each in members if each in MODULES]
            for each in inner or [node.module]:
                parts = each.split(".")
                folders = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
                # a folder that is being loaded already is not loaded again
                yield from (part for part in folders if not f"{name}.".startswith(f"{part}."))


def circle(name, above, done):
    """A way from a module back to itself, or nothing."""
    if name in above:
        return [*above[above.index(name) :], name]
    if name in done:
        return []
    for each in loaded_at_once(name):
        if found := circle(each, [*above, name], done):
            return found
    done.add(name)
    return []


def test_every_module_can_be_imported_first():
    done = set()
    assert [found for name in sorted(MODULES) if (found := circle(name, [], done))] == []
