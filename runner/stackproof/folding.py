"""Breaks a line that is too wide for a terminal between its words. What is copied from it, a command, stays whole."""

from __future__ import annotations

import re
import textwrap

# Columns that prose needs: where fewer are left, the terminal itself may break it.
_LEAST = 30
_LABEL = 12  # characters of `record it:` and the like
_PROGRAMS = "stackproof|nox|pytest|python[0-9.]*|pip|uv|npm|git|docker|kubectl|cp|rm|export|sudo"
# What is said in quotes, and what is a command from here to the end: at the beginning, or behind a colon.
_QUOTED = re.compile(r"(?<!\w)'[^']+'(?!\w)|`[^`]+`")
_COMMAND = re.compile(rf"(?:(?<=^)|(?<=: )|(?<=→ ))(?:[A-Z][A-Z0-9_]*=\S* )*(?:\S*/)?(?:{_PROGRAMS}) .*$")
_MARK = re.compile(r"^\S (?=\S)")  # no line has nothing but its mark
# pytest marks the lines of a failure at their beginning, and sets them in again behind that.
_SET_IN = re.compile(r"\s*(?:[E>] +)?")
_HELD = "\x00"  # a space that is no place to break at


def folded(text: str, *, width: int, hanging: int | None = None) -> list[str]:
    """The lines of one. Words stay whole, as no path or test id may be cut, and so do commands and what is quoted.

    hanging: by how many columns what follows the first line is set in, where that leaves enough of them; else, and with
    None, by two more than the line itself.
    """
    if len(text) <= width:
        return [text]
    found = _SET_IN.match(text)
    begin = found[0] if found is not None else ""
    indent = len(begin) - len(begin.lstrip())
    further = len(begin) + 2 if hanging is None else hanging
    if hanging is not None and width - further < _LEAST:
        further = indent + 4
    if width - further < _LEAST:
        return [text]
    lines = textwrap.wrap(
        _held(text[len(begin) :]),
        width,
        initial_indent=begin,
        subsequent_indent=" " * further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HELD, " ") for line in _joined(lines, width)]


def _joined(lines: list[str], width: int) -> list[str]:
    """What is too wide on any line does not leave its mark or its label alone on the one before."""
    if len(lines) > 1 and len(lines[0].strip()) <= _LABEL:
        word = lines[1].strip()
        if len(lines[1]) > width and " " not in word:
            return [f"{lines[0]} {word}", *lines[2:]]
    return lines


def _held(text: str) -> str:
    for held in (_MARK, _QUOTED, _COMMAND):
        text = held.sub(_hold, text)
    return text


def _hold(found: re.Match[str]) -> str:
    return found[0].replace(" ", _HELD)
