"""How a run that takes too long for a test of a page is planned: `--dry-run` prints what a run prints at its start."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOX = re.compile(r"^((?:\S+=\S*\s+)*)(?:python -m )?nox -s integration(?:\s+--(?=\s|$))?")
_TOLD = re.compile(r"\s+#\s.*$")
_HEAD = re.compile(r"stackproof \S+ · run |  [a-z]+ +\S")
# What a shell would put.
_PLACES = {"=~/": "=/home/reader/", "$XDG_RUNTIME_DIR": "/run/user/1000"}
# A stack of readers.
_THEIRS = ":toy"


def plan_of(command: str) -> str:
    """The command line that plans the run which this one is; nothing where it is none, or leaves words out."""
    line = _TOLD.sub("", command.replace("\\\n", " "))
    line = next((part for part in re.split(r"\s&&\s", line) if _NOX.sub("stackproof run", part) != part), line)
    line = _NOX.sub(r"\1stackproof run", line.strip())
    for said, put in _PLACES.items():
        line = line.replace(said, put)
    words = [word for word in line.split() if not re.match(r"[A-Z_]+=", word)]
    if words[:2] != ["stackproof", "run"] or "…" in words or _THEIRS in line:
        return ""
    before, dashes, after = line.partition(" -- ")
    return f"{before} --dry-run{dashes}{after}"


def head(shown: Sequence[str]) -> list[str]:
    """What a page shows of a run before it starts: `stackproof …` and the indented lines below it."""
    kept: list[str] = []
    for line in shown:
        if not _HEAD.match(line):
            break
        kept.append(line)
    return kept
