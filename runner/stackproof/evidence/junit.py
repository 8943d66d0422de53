"""JUnit XML as facts: the test cases are the truth, the numbers in attributes are only compared with them.

Read are the dialects that pytest, Maven Surefire and their relatives write (there is no standard; Surefire's schema,
https://maven.apache.org/surefire/maven-surefire-plugin/xsd/surefire-test-report.xsd, is the closest thing to one).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from xml.parsers import expat

from stackproof.evidence import xmltext
from stackproof.evidence.outcomes import Counts, Outcome, count, worst

_TEXT_LIMIT = 1 << 16  # characters kept of one message or output; a case may hold 60 MB of output


class ProblemKind(StrEnum):
    """Why a report cannot be taken at its word."""

    MISSING = "missing"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    COUNTS = "counts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One reason, in words that name the place."""

    kind: ProblemKind
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One test. `seconds` is None where the report does not say or says something that is no duration."""

    suite: str
    classname: str
    name: str
    outcome: Outcome
    seconds: float | None = None
    message: str = ""
    text: str = ""
    output: str = ""
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What names the test: two classes may each have a `test_get`."""
        return (self.classname, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A report with its folded cases, in file order. With problems it still holds what could be read."""

    path: Path
    cases: tuple[Case, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def counts(self) -> Counts:
        """Counts over the folded cases."""
        return count(case.outcome for case in self.cases)


def seconds(text: str | None) -> float | None:
    """A duration in seconds: `1,234.5` is read, anything that is no finite number of at least 0 is None (unknown)."""
    if text is None:
        return None
    try:
        value = float(text.strip().replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def read(path: Path) -> Report:
    """Read one report; never raises for what is in the file or that it is not there: see `Report.problems`."""
    try:
        size = path.stat().st_size
    except OSError:
        return Report(path=path, problems=(Problem(kind=ProblemKind.MISSING, text=f"{path.name} is missing"),))
    if size == 0:
        return Report(path=path, problems=(Problem(kind=ProblemKind.EMPTY, text=f"{path.name} is empty"),))
    reader = _Reader()
    problems: list[Problem] = []
    try:
        reader.feed(xmltext.chunks(path))
    except _RefusedError as refused:
        problems.append(Problem(kind=ProblemKind.REFUSED, text=f"{path.name} holds a {refused}, which is refused"))
    except expat.ExpatError as error:
        begun = reader.begun
        kind = ProblemKind.TRUNCATED if begun else ProblemKind.UNREADABLE
        words = "ends or breaks in the middle" if begun else "is no JUnit report"
        problems.append(Problem(kind=kind, text=f"{path.name} {words}: {error}"))
    except OSError as error:
        problems.append(Problem(kind=ProblemKind.UNREADABLE, text=f"{path.name} cannot be read: {error.strerror}"))
    if not reader.begun and not problems:
        problems.append(Problem(kind=ProblemKind.UNREADABLE, text=f"{path.name} is no JUnit report"))
    problems += [Problem(kind=ProblemKind.COUNTS, text=f"{path.name}: {words}") for words in reader.disagreements]
    return Report(path=path, cases=fold(reader.cases), properties=tuple(reader.properties), problems=tuple(problems))


def fold(cases: Iterable[Case]) -> tuple[Case, ...]:
    """One case per test: a call and a teardown that were written apart become one, with the worse outcome."""
    folded: dict[tuple[str, str, str], Case] = {}
    for case in cases:
        key = (case.suite, *case.key)
        seen = folded.get(key)
        folded[key] = case if seen is None else _both(seen, case)
    return tuple(folded.values())


def _both(first: Case, second: Case) -> Case:
    known = [value for value in (first.seconds, second.seconds) if value is not None]
    return replace(
        first,
        outcome=worst((first.outcome, second.outcome)),
        seconds=sum(known) if known else None,
        message="; ".join(filter(None, (first.message, second.message))),
        text="\n".join(filter(None, (first.text, second.text))),
        output="\n".join(filter(None, (first.output, second.output))),
        properties=(*first.properties, *(pair for pair in second.properties if pair not in first.properties)),
    )


class _RefusedError(Exception):
    """A document type or an entity: a report needs neither, and both can be used to exhaust memory."""


@dataclass(kw_only=True, slots=True)
class _Suite:
    """A suite that is being read, with what its attributes claim."""

    name: str
    claims: Mapping[str, str]
    first: int  # index of its first case
    line: int


class _Reader:
    """The state of one pass through a file."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.properties: list[tuple[str, str]] = []
        self.disagreements: list[str] = []
        self.begun = False
        self._tags: list[tuple[str, ...]] = []  # beside `cases`: the marks of each
        self._suites: list[_Suite] = []
        self._case: dict[str, str] | None = None
        self._marks: list[tuple[str, Mapping[str, str]]] = []
        self._case_properties: list[tuple[str, str]] = []
        self._texts: dict[str, list[str]] = {}
        self._kept = 0
        self._inside: str | None = None
        self._parser = expat.ParserCreate(encoding="utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity

    def feed(self, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self._parser.Parse(chunk, False)
        self._parser.Parse(b"", True)

    def _doctype(self, *_: object) -> None:
        raise _RefusedError("document type declaration (DTD)")

    def _entity(self, *_: object) -> None:
        raise _RefusedError("entity declaration")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition("}")[2].rpartition(":")[2]
        if tag in ("testsuites", "testsuite"):
            self.begun = True
            name = attributes.get("name", "")
            self._suites.append(
                _Suite(name=name, claims=attributes, first=len(self.cases), line=self._parser.CurrentLineNumber)
            )
        elif tag == "testcase":
            self._case, self._marks, self._case_properties = attributes, [], []
            self._texts, self._kept = {}, 0
        elif tag == "property":
            pair = (attributes.get("name", ""), attributes.get("value", ""))
            (self.properties if self._case is None else self._case_properties).append(pair)
        elif self._case is not None and tag != "properties":
            self._inside = "output" if tag in ("system-out", "system-err") else "text"
            if self._inside == "text":
                self._marks.append((tag, attributes))

    def _data(self, text: str) -> None:
        if self._inside is not None and self._kept < _TEXT_LIMIT:
            self._texts.setdefault(self._inside, []).append(text[: _TEXT_LIMIT - self._kept])
            self._kept += len(text)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        self._inside = None
        if tag == "testcase" and self._case is not None:
            self.cases.append(self._finished(self._case))
            self._tags.append(tuple(tag for tag, _ in self._marks if tag in ("failure", "error", "skipped")))
            self._case = None
        elif tag in ("testsuites", "testsuite"):
            self._compare(self._suites.pop())

    def _finished(self, attributes: Mapping[str, str]) -> Case:
        message = "; ".join(found for _, mark in self._marks if (found := mark.get("message")))
        return Case(
            suite=" / ".join(suite.name for suite in self._suites if suite.name),
            classname=attributes.get("classname", ""),
            name=attributes.get("name", ""),
            outcome=_outcome(self._marks, attributes),
            seconds=seconds(attributes.get("time")),
            message=message[:_TEXT_LIMIT],
            text="".join(self._texts.get("text", [])).strip(),
            output="".join(self._texts.get("output", [])),
            properties=tuple(self._case_properties),
        )

    def _compare(self, suite: _Suite) -> None:
        """Writers count cases, tests or marks: any of these counts is taken, anything else is a disagreement.

        pytest counts marks and writes every attempt of a rerun as a case (junitxml.py, pytest_sessionfinish).
        """
        written, tags = self.cases[suite.first :], self._tags[suite.first :]
        folded = fold(written)
        marks = [tag for each in tags for tag in each]
        has = count(case.outcome for case in folded)
        allowed: dict[str, Collection[int]] = {
            "tests": range(len(folded), sum(max(1, len(each)) for each in tags) + 1),
            "failures": {marks.count("failure"), has.failed, has.failed + has.errors},
            "errors": {marks.count("error"), has.errors},
            # An expected failure is written as a skip by those who have no word for it.
            "skipped": {marks.count("skipped"), has.skipped, has.skipped + has.xfailed + has.xpassed},
        }
        for attribute, numbers in allowed.items():
            claimed = suite.claims.get(attribute)
            if claimed is None:
                continue
            number = seconds(claimed)
            if number is None or number not in numbers:
                makes = " or ".join(str(each) for each in sorted({min(numbers), max(numbers)}))
                self.disagreements.append(
                    f"line {suite.line} claims {attribute}={claimed!r}, its test cases make {makes}"
                )


def _outcome(marks: Iterable[tuple[str, Mapping[str, str]]], attributes: Mapping[str, str]) -> Outcome:
    found: list[Outcome] = []
    for tag, mark in marks:
        match tag:
            case "failure":
                found.append(Outcome.FAILED)
            case "error":
                found.append(Outcome.ERROR)
            case "skipped":
                found.append(_skip(mark))
            case "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError":
                found.append(Outcome.FLAKY)
            case _:
                pass
    if not found and attributes.get("status", "").lower() in ("notrun", "disabled", "skipped"):
        return Outcome.SKIPPED
    return worst(found) if found else Outcome.PASSED


def _skip(mark: Mapping[str, str]) -> Outcome:
    if mark.get("type") == "pytest.xfail":
        return Outcome.XFAILED
    if mark.get("type") == "pytest.xpass" or mark.get("message", "").startswith("xfail-marked test passes"):
        return Outcome.XPASSED
    return Outcome.SKIPPED
