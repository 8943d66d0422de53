"""The findings as text for a person, and as JSON for a program."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from stackproof import __version__
from stackproof.doctor.checks import CHECKS
from stackproof.doctor.examine import Examination, Examined
from stackproof.doctor.finding import Finding, Level
from stackproof.plaintext import counted, plain

SCHEMA = 1
MARKS = {Level.OK: "✓", Level.ODD: "!", Level.MISSING: "✗"}
_NAME = max(len(check.name) for check in CHECKS)
_INDENT = " " * (_NAME + 4)
_WIDEST = 100


def lines(found: Examination, *, width: int) -> Iterator[tuple[Level | None, str]]:
    """Lines of at most `width` characters where words permit, each with the level that its mark stands for.

    What is in order is one entry a check, what is not has an entry each, with what to do about it below.
    """
    room = max(40, min(width, _WIDEST)) - len(_INDENT)
    for examined in found.checks:
        yield from _check(examined, room)
    yield None, ""
    yield None, summary(found)


def summary(found: Examination) -> str:
    """One line: whether anything stands in the way."""
    in_the_way, strange = found.count(Level.MISSING), found.count(Level.ODD)
    here = any(finding.id == "project.none" for finding in found.findings)
    said = "nothing is missing on this machine" if here else "nothing stands in the way of a replay"
    if in_the_way:
        said = f"{counted(in_the_way, 'thing')} stand{'s' if in_the_way == 1 else ''} in the way of a replay"
    return f"{said}; {counted(strange, 'thing')} {'is' if strange == 1 else 'are'} odd" if strange else said


def as_json(found: Examination, *, project: str, is_project: bool) -> dict[str, Any]:
    """The same as one object."""
    return {
        "schema": SCHEMA,
        "kind": "doctor",
        "stackproof": __version__,
        "project": project if is_project else None,
        "exit_code": int(found.exit_code),
        "counts": {level.value: found.count(level) for level in Level},
        "checks": [{"check": each.check.name, "seconds": round(each.seconds, 3)} for each in found.checks],
        "findings": [
            {
                "id": each.id,
                "check": each.check,
                "level": each.level.value,
                "subject": each.subject,
                "says": each.says,
                "remedy": each.remedy,
            }
            for each in found.findings
        ],
    }


def _check(examined: Examined, room: int) -> Iterator[tuple[Level | None, str]]:
    name = examined.check.name
    fine = [finding for finding in examined.findings if finding.level is Level.OK]
    if fine:
        yield from _entry(Level.OK, name, "; ".join(_sentence(finding) for finding in fine), room)
    for finding in examined.findings:
        if finding.level is not Level.OK:
            yield from _entry(finding.level, name, _sentence(finding), room)
            for line in (finding.remedy or "").splitlines():
                first, *more = _wrapped(_line(line), room - 2)
                yield None, f"{_INDENT}→ {first}"
                yield from ((None, f"{_INDENT}  {text}") for text in more)


def _entry(level: Level, name: str, text: str, room: int) -> Iterator[tuple[Level | None, str]]:
    first, *more = _wrapped(text, room)
    yield level, f"{MARKS[level]} {name.ljust(_NAME)}  {first}"
    yield from ((None, f"{_INDENT}{line}") for line in more)


def _sentence(finding: Finding) -> str:
    """Subject and predicate, or the subject and what a sign puts behind it; of itself a check says the latter alone."""
    if finding.subject == finding.check:
        return _line(finding.says)
    # Names of files and folders are somebody else's words.
    return _line(f"{finding.subject}{'' if finding.says[:1] in ',:;' else ' '}{finding.says}")


def _line(text: str) -> str:
    return plain(" ".join(text.split()))


def _wrapped(text: str, room: int) -> list[str]:
    # A command, between backticks, is copied whole: it stays on one line.
    pieces = text.split("`")
    pieces[1::2] = [piece.replace(" ", "\N{NO-BREAK SPACE}") for piece in pieces[1::2]]
    found = textwrap.wrap("`".join(pieces), room, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in found] or [""]
