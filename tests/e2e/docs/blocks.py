"""Reads the fenced blocks of a page, and what a block of a terminal shows: commands, each with its output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[3]

_FENCE = re.compile(r"^(?P<indent>\s*)(?P<mark>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_PROMPT = "$ "
_TERMINAL = {"", "console", "shell", "bash", "sh"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A fenced block. page: from the project's folder; line: of its first fence, from 1; text: without indentation."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it is, as a compiler says it."""
        return f"{self.page}:{self.line}"

    @property
    def is_terminal(self) -> bool:
        """Whether it may show a terminal."""
        return self.language in _TERMINAL

    def steps(self) -> tuple[Step, ...]:
        """The commands behind a prompt, each with what is shown below it; nothing where there is no prompt."""
        return _steps_of(self.text) if self.is_terminal else ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command of a terminal and the lines below it, up to the next prompt."""

    command: str
    output: tuple[str, ...]


def pages() -> list[str]:
    """All pages that have to be right, from the project's folder."""
    found = sorted((PROJECT / "docs").rglob("*.md"))
    return ["README.md", *(path.relative_to(PROJECT).as_posix() for path in found)]


def read(page: str) -> tuple[Block, ...]:
    """The blocks of a page, in order."""
    return tuple(_blocks(page, (PROJECT / page).read_text(encoding="utf-8").splitlines()))


def _blocks(page: str, lines: Sequence[str]) -> Iterator[Block]:
    opened: re.Match[str] | None = None
    start, inside = 0, list[str]()
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence is not None:
                opened, start, inside = fence, number, []
        elif fence is not None and fence["mark"].startswith(opened["mark"]):
            yield Block(page=page, line=start, language=opened["language"], text="\n".join(inside))
            opened = None
        else:
            indent = opened["indent"]
            inside.append(line.removeprefix(indent) if line.startswith(indent) else line.lstrip())
    if opened is not None:
        raise AssertionError(f"{page}:{start}: a block that nothing ends")


@cache
def _steps_of(text: str) -> tuple[Step, ...]:
    return tuple(_steps(text.splitlines()))


def _steps(lines: Sequence[str]) -> Iterator[Step]:
    command, output = "", list[str]()
    for line in lines:
        if _goes_on(command) and not output:
            command += "\n" + line
        elif line.startswith(_PROMPT):
            if command:
                yield Step(command=command, output=tuple(output))
            command, output = line.removeprefix(_PROMPT), []
        elif command:
            output.append(line)
    if command:
        yield Step(command=command, output=tuple(output))


def _goes_on(command: str) -> bool:
    """Whether the shell waits for another line: after a backslash, inside of quotes."""
    if not command:
        return False
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False
