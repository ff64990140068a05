"""What mechanisms share knows no mechanism: ops import nothing of the folder but other ops."""

import ast
from pathlib import Path

from longarena.attention import ops


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_ops_import_only_other_ops():
    found = {
        f"{path.name} imports {module}"
        for path in Path(ops.__file__).parent.glob("*.py")
        for module in imported_modules(path)
        if module.startswith("longarena.attention")
        and not module.startswith("longarena.attention.ops")
    }
    assert not found
