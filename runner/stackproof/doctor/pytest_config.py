"""What pytest is told without being told on its command line: the one file that it reads, and its variables.

Which file counts, and in which order: https://docs.pytest.org/en/stable/reference/customize.html
"""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """One word of the options that are always given, and who gives it: `pytest.ini`, `PYTEST_ADDOPTS`."""

    text: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PytestConfig:
    """file: None where there is none. problem: why it cannot be read. words: all of `addopts`, then PYTEST_ADDOPTS.

    markers: names that the project declares. plugins: of PYTEST_PLUGINS. autoload: False where plugins are only taken
    when named. ini: every other setting that is text.
    """

    file: str | None = None
    problem: str | None = None
    words: tuple[Word, ...] = ()
    markers: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    autoload: bool = True
    ini: Mapping[str, str] = field(default_factory=dict)

    def has(self, *options: str) -> Word | None:
        """The first word that is one of these options, by itself or with a value behind `=`."""
        return next((word for word in self.words if word.text.partition("=")[0] in options), None)

    def without_plugins(self) -> Iterator[tuple[str, Word]]:
        """Names of plugins that are switched off, by `-p no:NAME` in either spelling."""
        for first, second in pairwise((*self.words, None)):
            if first is None:
                continue
            if first.text == "-p" and second is not None and second.text.startswith("no:"):
                yield second.text.removeprefix("no:"), first
            elif first.text.startswith("-pno:"):
                yield first.text.removeprefix("-pno:"), first

    def with_plugins(self) -> Iterator[tuple[str, Word]]:
        """Names of plugins that are asked for, by `-p NAME`."""
        for first, second in pairwise((*self.words, None)):
            if first is None:
                continue
            if first.text == "-p" and second is not None and not second.text.startswith("no:"):
                yield second.text, first
            elif (
                first.text.startswith("-p") and first.text[2:3] not in ("", "-") and not first.text.startswith("-pno:")
            ):
                yield first.text[2:], first


def read(project: Path, environ: Mapping[str, str]) -> PytestConfig:
    """The configuration that pytest takes with `project` as its root; a file that cannot be read is said to be so."""
    problem, name, table = None, None, None
    for candidate in _FILES:
        try:
            table = _table(project / candidate)
        except (OSError, ValueError, configparser.Error) as error:
            # A pyproject.toml that is broken may have said nothing of pytest: every tool will say it is.
            problem, name = f"{candidate}: {' '.join(str(error).split())}", candidate
            break
        if table is not None:
            name = candidate
            break
    given = table or {}
    try:
        words = [Word(text=text, source=str(name)) for text in _words(given.get("addopts"))]
        words += [Word(text=text, source="PYTEST_ADDOPTS") for text in shlex.split(environ.get("PYTEST_ADDOPTS", ""))]
    except ValueError as error:
        words, problem = [], f"addopts: {error}"
    off = environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") or any(
        word.text == "--disable-plugin-autoload" for word in words
    )
    return PytestConfig(
        file=name,
        problem=problem,
        words=tuple(words),
        markers=tuple(line.partition(":")[0].partition("(")[0].strip() for line in _lines(given.get("markers"))),
        plugins=tuple(part for part in environ.get("PYTEST_PLUGINS", "").split(",") if part),
        autoload=not off,
        ini={key: str(value) for key, value in given.items() if isinstance(value, str | int | bool)},
    )


def _table(path: Path) -> Mapping[str, Any] | None:
    """What the file says of pytest; None where it says nothing, so that the next one is asked."""
    if not path.is_file():
        return None
    if path.suffix == ".toml":
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        if path.name == "pyproject.toml":
            tool: Mapping[str, Any] = content.get("tool", {}).get("pytest", {})
            found: Mapping[str, Any] | None = tool.get("ini_options") or tool or None
            return found
        table: Mapping[str, Any] = content.get("pytest", {})
        return table
    parser = configparser.RawConfigParser(interpolation=None, strict=False)
    parser.read_string(path.read_text(encoding="utf-8"))
    section = "tool:pytest" if path.name == "setup.cfg" else "pytest"
    if parser.has_section(section):
        return dict(parser.items(section))
    # An empty pytest.ini counts too: it makes its folder the root.
    return {} if path.name in ("pytest.ini", ".pytest.ini") else None


def _words(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else shlex.split(str(value or ""))


def _lines(value: object) -> list[str]:
    items = value if isinstance(value, list) else str(value or "").splitlines()
    return [str(item).strip() for item in items if str(item).strip()]
