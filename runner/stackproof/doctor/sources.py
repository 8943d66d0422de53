"""What a project's Python files import and define, read as text first, so that a large project takes no long time."""

from __future__ import annotations

import ast
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_LIMIT = 4000  # files
_SECONDS = 1.2  # for all of them
_SIZE = 512 * 1024  # bytes of one file; longer ones were made by programs
_LEFT_OUT = frozenset(
    {".git", ".hg", ".stackproof", ".nox", ".tox", "__pycache__", "node_modules", "site-packages", "build", "dist"}
)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<of>[\w.]+)[ \t]+import\b|import[ \t]+(?P<names>[\w., \t]+))", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One file: its path below the project, its text, and the modules that lines of it import, with those lines.

    packages: the first words of these modules.
    """

    name: str
    text: str = field(repr=False)
    imports: tuple[tuple[str, int], ...] = ()
    packages: frozenset[str] = frozenset()

    def line_of(self, pattern: re.Pattern[str]) -> int | None:
        """The first line, from 1, that a pattern is found in; None where there is none."""
        found = pattern.search(self.text)
        return None if found is None else self.text.count("\n", 0, found.start()) + 1

    def imports_of(self, *modules: str) -> Iterator[tuple[str, int]]:
        """Which of these modules, or of what is in them, it imports, and on which line."""
        if self.packages.isdisjoint(module.partition(".")[0] for module in modules):
            return
        found = [item for item in self.imports if any(f"{item[0]}.".startswith(f"{module}.") for module in modules)]
        if found:
            # Prose in a docstring may read like an import.
            real = {node.lineno for node in self._nodes() if isinstance(node, ast.Import | ast.ImportFrom)}
            yield from (item for item in found if item[1] in real)

    def _nodes(self) -> Iterator[ast.AST]:
        tree = self.tree()
        return iter(()) if tree is None else ast.walk(tree)

    def tree(self) -> ast.Module | None:
        """The file as Python reads it; None where that is impossible."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """files: those that were read. whole: False where there were too many to read them all."""

    files: tuple[Source, ...] = ()
    whole: bool = True

    def importing(self, *modules: str) -> list[tuple[str, str, int]]:
        """Where any of these modules is imported: module, file, line."""
        return [(name, file.name, line) for file in self.files for name, line in file.imports_of(*modules)]

    @property
    def conftests(self) -> tuple[Source, ...]:
        """The files that pytest takes hooks and fixtures from."""
        return tuple(file for file in self.files if file.name.rpartition("/")[2] == "conftest.py")


def read(project: Path, *, seconds: float = _SECONDS, limit: int = _LIMIT) -> Sources:
    """Read the project's Python files, virtual environments and what tools made left out.

    Tests and what lies near the top come first, for where there is no time for all.
    """
    until = time.monotonic() + seconds
    files: list[Source] = []
    for path in _paths(project):
        if len(files) >= limit or time.monotonic() > until:
            return Sources(files=tuple(files), whole=False)
        if (text := _text(path)) is not None:
            imports = tuple(_imports(text))
            packages = frozenset(module.partition(".")[0] for module, _ in imports)
            name = path.relative_to(project).as_posix()
            files.append(Source(name=name, text=text, imports=imports, packages=packages))
    return Sources(files=tuple(files))


def _imports(text: str) -> Iterator[tuple[str, int]]:
    line, at = 1, 0
    for match in _IMPORT.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if match["of"]:
            yield match["of"], line
            # `from google import genai` imports google.genai as well.
            rest = text[match.end() : match.end() + 400].partition("\n")[0].strip(" (\\")
            yield from ((f"{match['of']}.{name}", line) for name in _names(rest))
        else:
            yield from ((name, line) for name in _names(match["names"]))


def _names(text: str) -> list[str]:
    parts = (part.split() for part in text.partition("#")[0].replace(")", "").split(","))
    return [words[0] for words in parts if words]


def _paths(project: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(project):
        folders[:] = sorted(_kept(Path(base), folders), key=lambda name: (not name.startswith("test"), name))
        yield from (Path(base, name) for name in sorted(names) if name.endswith(".py"))


def _kept(base: Path, folders: Iterable[str]) -> Iterator[str]:
    for name in folders:
        # A virtual environment says of itself that it is one (PEP 405).
        if name not in _LEFT_OUT and not name.startswith(".") and not (base / name / "pyvenv.cfg").exists():
            yield name


def _text(path: Path) -> str | None:
    try:
        facts = path.stat()
        # A pipe of that name would be waited for.
        if facts.st_size > _SIZE or not stat.S_ISREG(facts.st_mode):
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
