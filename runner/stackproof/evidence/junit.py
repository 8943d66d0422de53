"""JUnit XML as facts: the test cases are the truth, the numbers in attributes are only compared with them.

Read are the dialects that pytest, Maven Surefire and their relatives write (there is no standard; Surefire's schema,
https://maven.apache.org/surefire/maven-surefire-plugin/xsd/surefire-test-report.xsd, is the closest thing to one).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from stackproof.evidence import xmltext
from stackproof.evidence.junit_case import Case, Problem, ProblemKind, Report
from stackproof.evidence.junit_cases import Cases
from stackproof.evidence.junit_claims import seconds
from stackproof.evidence.junit_reader import Reader, RefusedError

__all__ = ["Case", "Cases", "Problem", "ProblemKind", "Report", "read", "seconds", "stream"]


def read(path: Path) -> Report:
    """Read one report; never raises for what is in the file or that it is not there: see `Report.problems`.

    A call and a teardown that were written apart are one case, with the worse outcome. What tests wrote is left out.
    """
    try:
        size = path.stat().st_size
    except OSError:
        return Report(path=path, problems=(Problem(kind=ProblemKind.MISSING, text=f"{path.name} is missing"),))
    if size == 0:
        return Report(path=path, problems=(Problem(kind=ProblemKind.EMPTY, text=f"{path.name} is empty"),))
    reader = Reader()
    broken = _damage(path, reader)
    if broken is None and not reader.begun:
        root = f": its root is <{reader.root}>" if reader.root else ""
        broken = Problem(kind=ProblemKind.UNREADABLE, text=f"{path.name} is no JUnit report{root}")
    reader.finish()
    said = [Problem(kind=each.kind, text=f"{path.name}: {each.text}") for each in reader.problems]
    return Report(
        path=path,
        cases=reader.cases,
        properties=tuple(reader.properties),
        problems=(*([] if broken is None else [broken]), *said),
        notes=tuple(f"{path.name}: {note}" for note in reader.notes),
    )


def stream(path: Path) -> Iterator[Case]:
    """The cases of a report as they are written, one by one and with what each wrote, in bounded memory.

    Nothing is folded, and nothing is said of what is wrong with the file: `read` does both. Ends where the file does.
    """
    waiting: list[Case] = []
    reader = Reader(give=waiting.append)
    try:
        for _ in reader.feed(xmltext.chunks(path)):
            yield from waiting
            waiting.clear()
    except (RefusedError, expat.ExpatError, OSError, UnicodeError):
        yield from waiting


def _damage(path: Path, reader: Reader) -> Problem | None:
    """Read all of it; why that did not succeed."""
    try:
        for _ in reader.feed(xmltext.chunks(path)):
            pass
    except RefusedError as refused:
        return Problem(kind=ProblemKind.REFUSED, text=f"{path.name} holds a {refused}, which is refused")
    except expat.ExpatError as error:
        if reader.begun:
            return Problem(kind=ProblemKind.TRUNCATED, text=f"{path.name} ends or breaks {reader.place}: {error}")
        return Problem(kind=ProblemKind.UNREADABLE, text=f"{path.name} is no JUnit report: {error}")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "its encoding"
        return Problem(kind=ProblemKind.UNREADABLE, text=f"{path.name} cannot be read: {why}")
    return None
