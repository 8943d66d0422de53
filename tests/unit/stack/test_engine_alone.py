"""Whoever wants something of the engine asks `stack.engine`: the SDK behind it could be another one."""

from __future__ import annotations

import ast
from pathlib import Path

import stackproof

PACKAGE = Path(stackproof.__file__).parent


def imported(source: Path) -> set[str]:
    """The top-level packages that a module imports, in whatever function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_docker_is_imported_by_the_package_of_the_engine_alone() -> None:
    importers = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "docker" in imported(path)}
    assert importers, "nobody imports docker: the search finds nothing"
    assert {path.parent for path in importers} == {Path("stack/engine")}
