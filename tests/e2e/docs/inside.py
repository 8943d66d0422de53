"""Runs commands of ours in this process where they start no tests: an interpreter each would cost more than they do."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.e2e.docs.projects import Room

from stackproof.cli import main

# They start stacks or tests, serve, become another program, or read what is there of this process.
_STARTS = {"run", "verify-release", "smoke", "exec", "edge", "doctor", "typecheck", "benchmark"}
_STARTS_BELOW = {"stack": {"up", "image"}, "lane": {"run"}, "claims": {"run"}, "recordings": {"apply", "patch"}}
_READS = {"docs", "suites", "setups", "stacks", "plan", "freshness"}
_READS_BELOW = {
    "recordings": {"list", "show", "stats", "find", "explain", "identity", "diff"},
    "lane": {"list", "show", "check"},
    "claims": {"list", "show"},
    "policy": {"explain"},
}
# What only plans is no start.
_PLANS = {"--dry-run", "--print-env", "--help", "-h"}
_ASSIGNMENT = re.compile(r"([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
# A shell would read more into these than a word.
_QUOTED = re.compile(r"'[^']*'")
_SHELL = re.compile(r"[|&;<>$`?\[(){}~]|\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A command of ours: its words without its name, and the variables that stand before it."""

    words: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def reads(self) -> bool:
        """Whether it is known to change nothing."""
        first, second = (*self.words, "", "")[:2]
        return first in _READS or second in _READS_BELOW.get(first, set()) or bool(_PLANS & set(self.words))


def read(command: str) -> Call | None:
    """The command, where it can be run in here; None where it takes a shell or starts more than itself."""
    line = command.replace("\\\n", " ")
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    if _SHELL.search(_QUOTED.sub("", line.partition(" # ")[0])):
        return None
    variables: dict[str, str] = {}
    while words and (found := _ASSIGNMENT.fullmatch(words[0])):
        variables[found[1]] = found[2]
        words.pop(0)
    if words[:1] != ["stackproof"] or _starts(words[1:]):
        return None
    return Call(words=tuple(words[1:]), variables=variables)


def _starts(words: list[str]) -> bool:
    if not words or _PLANS & set(words):
        return False
    return words[0] in _STARTS or bool(_STARTS_BELOW.get(words[0], set()) & set(words[1:2]))


def named(word: str, root: Path) -> list[str]:
    """The files that a pattern with `*` names, as a shell puts them; none where it is no pattern."""
    end = "/" if word.endswith("/") else ""
    found = [path for path in root.glob(word) if path.is_dir() or not end] if "*" in word else []
    return sorted(f"{path.relative_to(root)}{end}" for path in found)


def run(call: Call, room: Room) -> tuple[int, list[str]]:
    """Its exit code and what it printed, as from a process of its own in the room."""
    printed = io.StringIO()
    environ = {**room.environ, **call.variables}
    words = [name for word in call.words for name in (named(word, room.root) or [word])]
    with (
        mock.patch.dict(os.environ, environ, clear=True),
        contextlib.chdir(room.root),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        code = main.main(words, environ=environ, project=room.root)
    return int(code), printed.getvalue().splitlines()
