"""Whose a cassette is: the node id of a test, from where the cassette lies and from the tests that are there.

pytest-recording keeps `<folder>/cassettes/<module>/<name>.yaml`, pytest-vcr and vcrpy's unittest class
`<folder>/cassettes/<name>.yaml`; a name is `test`, `test[parameters]`, or either after `Class.`, the innermost class.
Test files are read for the names in them, never imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from stackproof.recordings.importing.imported import RefusedSource

_FOLDER = "cassettes"
_CUT = re.compile(r"\.\.\.[0-9a-f]{32}\Z")
# pytest-recording writes "-" for each of < > ? % * : | " ' / \ in a name.
GUESSED = "a test's parameters: `-` in a cassette's name may stand for `/`, `:` and others; --test says which"


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """test_id: the test's node id below the base folder. is_guess: its parameters may have been other ones."""

    test_id: str
    is_guess: bool = False


def of(path: Path, base: Path) -> Owner:
    """The test of the cassette at `path`; node ids begin below `base`. RefusedSource where nobody can tell."""
    name = path.name.removesuffix(path.suffix)
    if _CUT.search(name):
        raise _untold("its name was cut by pytest-recording")
    found = dict.fromkeys(
        f"{file.relative_to(base).as_posix()}::{test}"
        for file in _files(path)
        if file.is_file() and file.is_relative_to(base)
        for test in _tests(file, name)
    )
    if not found:
        raise _untold("no test beside its folder has its name")
    if len(found) > 1:
        raise _untold("several tests beside its folder have its name")
    parameters = name.partition("[")[2]
    return Owner(test_id=next(iter(found)), is_guess="-" in parameters)


def _untold(why: str) -> RefusedSource:
    return RefusedSource(f"nobody can tell whose it is: {why}; --test NODEID says it")


def _files(path: Path) -> Iterator[Path]:
    """The test files that a cassette may belong to."""
    if path.parent.parent.name == _FOLDER:
        yield path.parent.parent.parent / f"{path.parent.name}.py"
    elif path.parent.name == _FOLDER:
        folder = path.parent.parent
        yield from sorted({*folder.glob("test_*.py"), *folder.glob("*_test.py")})


def _tests(file: Path, name: str) -> Iterator[str]:
    """What follows the file's name in the node ids of its tests that have this cassette name."""
    plain, bracket, parameters = name.partition("[")
    owner, _, function = plain.rpartition(".")
    for inside in _classes(file).get(owner, ()):
        if function in inside.functions or inside.inherits:
            yield "::".join([*inside.names, function + bracket + parameters])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Class:
    """names: those of the classes around and of its own, none for the module. inherits: may have tests of a base."""

    names: tuple[str, ...]
    functions: frozenset[str]
    inherits: bool


@lru_cache(maxsize=64)
def _classes(file: Path) -> dict[str, list[_Class]]:
    """Innermost class name ("" for the module) → every class of that name."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, list[_Class]] = {}

    def look(node: ast.Module | ast.ClassDef, names: tuple[str, ...]) -> None:
        inside = list(_defined(node))
        functions = {item.name for item in inside if not isinstance(item, ast.ClassDef)}
        inherits = isinstance(node, ast.ClassDef) and bool(node.bases)
        found.setdefault(names[-1] if names else "", []).append(
            _Class(names=names, functions=frozenset(functions), inherits=inherits)
        )
        for item in inside:
            if isinstance(item, ast.ClassDef):
                look(item, (*names, item.name))

    look(tree, ())
    return found


def _defined(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes of a module or class, those under an `if` or `try` too."""
    for item in ast.iter_child_nodes(node):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield item
        elif isinstance(item, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            yield from _defined(item)
