"""Holds what a command printed to what a page shows of it, without what is another each time.

Times, sizes, ids, ports, dates and numbers are folded (0 stays 0: nothing missed is not something missed). `…` alone on
a line stands for any lines, `…` within one for any text. What a run prints while it goes on is left out on both sides.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_ELLIPSIS = "…"
_FOLDED = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"guarded in Python only[^\n]*"), "sealed (network namespace)"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)?"), "DATE"),
    (re.compile(r"(?:\d+ min )?\b\d+(?:[.,]\d+)* (?:µs|ms|s|min)\b"), "TIME"),
    (re.compile(r"\b\d+(?:[.,]\d+)* (?:B|kB|MB|GB)\b"), "SIZE"),
    # The first of the two has the unit of the second, and is as much another each time.
    (re.compile(r"\b\d+(?:[.,]\d+)* (of|to) (TIME|SIZE)\b"), r"\2 \1 \2"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{6,64}\b"), "ID"),
    (re.compile(r"\b(?:resp|msg|mcp|fc|file|vs|turn|chatcmpl)[_-][0-9a-zA-Z]{12,}\b"), "ID"),
    (re.compile(r"\d+\.\d+(?:\.\d+)*"), "N"),
    (re.compile(r"(?<!\d)0+(?!\d)"), "0"),
    (re.compile(r"\d*[1-9]\d*(?:,\d{3})*"), "N"),
    (re.compile(r"(?<=\b[0N] )(\w{3,}[^s\W])s\b"), r"\1"),
    (re.compile(r"   TIME so far(?:, about TIME to go)?$|   about TIME to go$"), ""),
    (re.compile(r"[━─-]{4,}"), "----"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
)
_MARKED = re.compile(r"[✓✗!?~] +(\w+)")
# Printed while something goes on: how often depends on the machine.
_GOES_ON = re.compile(
    r"^(?:nox > .*"
    r"|(?:\[ ?\d+/\d+\] )?\S+ (?P<done>\d+)/(?P<of>\d+|\?)  .*"
    r"|\S+: (?:no|every) test has a result.*|.*: still running, \d.*"
    r"|(?:installing|installed|preparing|fetching) .* (?:once for this machine|in \d+ s).*)$"
)


def folded(line: str) -> str:
    """A line without what is another each time."""
    for pattern, put in _FOLDED:
        line = pattern.sub(put, line)
    return line.rstrip()


def marked(lines: Iterable[str]) -> list[str]:
    """The words that stand behind a mark at the beginning of a line, each once."""
    return list(dict.fromkeys(found[1] for line in lines if (found := _MARKED.match(line))))


def _is_progress(line: str) -> bool:
    found = _GOES_ON.match(line)
    return found is not None and (found["done"] is None or found["done"] != found["of"])


def _lines(text: Iterable[str]) -> list[str]:
    kept = [folded(line) for line in text if not _is_progress(line)]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def difference(shown: Sequence[str], printed: Sequence[str]) -> str:
    """What of the shown lines was not printed so; empty where all is as shown."""
    wanted, seen = _lines(shown), _lines(printed)
    if _fits(wanted, seen):
        return ""
    lines = difflib.unified_diff(wanted, seen, "the page shows", "was printed", lineterm="", n=2)
    return "\n".join(lines)


def _fits(wanted: Sequence[str], seen: Sequence[str]) -> bool:
    """Whether the lines are the wanted ones, each `…` standing for any number of them."""
    reached = {0}
    for line in wanted:
        if line.strip() == _ELLIPSIS:
            reached = set(range(min(reached), len(seen) + 1)) if reached else set()
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split(_ELLIPSIS)))
        reached = {at + 1 for at in reached if at < len(seen) and pattern.fullmatch(seen[at])}
    return len(seen) in reached
