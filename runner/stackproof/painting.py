"""Which words of a line are coloured on a terminal: a mark or a verdict at its beginning, nothing else.

Colour says nothing that the words do not say: every line reads the same without it.
"""

from __future__ import annotations

import re

# Of the colours that a terminal itself chooses, so that they can be read on its ground, dark or light.
_CODES = {"green": "32", "red": "31", "yellow": "33", "bold green": "1;32", "bold red": "1;31", "bold yellow": "1;33"}
_MARKS = {"✓": "green", "●": "green", "✗": "red", "?": "yellow", "!": "yellow", "~": "yellow"}
_STATES = {
    "PASS": "bold green",
    "FAIL": "bold red",
    "NOT PROVEN": "bold yellow",
    "NOTHING RAN": "bold yellow",
    "STOPPED": "bold yellow",
}
_STYLES = {**_MARKS, **_STATES}

_LINE = re.compile(
    rf"(?: {{2}})?([{''.join(map(re.escape, _MARKS))}]) "
    rf"|(?:(?:RELEASE VERDICT|LANE \S+) {{2}})?({'|'.join(_STATES)})(?: {{2}}|$)"
)


def span(line: str) -> tuple[int, int, str] | None:
    """Where the coloured word of a line begins and ends, and its style in rich's words; None for a line without one."""
    found = _LINE.match(line)
    if found is None or found.lastindex is None:
        return None
    start, end = found.span(found.lastindex)
    return start, end, _STYLES[line[start:end]]


def painted(line: str) -> str:
    """The line, with the sequences that colour it on a terminal."""
    found = span(line)
    if found is None:
        return line
    start, end, style = found
    return f"{line[:start]}\x1b[{_CODES[style]}m{line[start:end]}\x1b[0m{line[end:]}"
