"""One pass through a JUnit report: elements come from expat and leave as folded cases, or one by one.

A case that passed and says nothing else never becomes an object: a report may hold a hundred thousand of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from xml.parsers import expat

from stackproof.evidence.junit_case import OUTSIDE, Case, Problem, ProblemKind
from stackproof.evidence.junit_cases import UNKNOWN, Cases, SuiteRows, key_of
from stackproof.evidence.junit_claims import SuiteSeen, seconds
from stackproof.evidence.junit_words import FINAL, SAID_IN, marked, said
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.xmllines import Lines

TEXT_LIMIT = 1 << 16  # characters kept of one message or output; a case may hold 60 MB of output
_TEXTS_LIMIT = 1 << 22  # characters kept of all of them in full …
_SHORT = 1 << 10  # … and of each one beyond
_SAID_IN = frozenset(SAID_IN)
_SUITES = ("testsuites", "testsuite")
_OUTPUTS = ("system-out", "system-err")


class RefusedError(Exception):
    """A document type or an entity: a report needs neither, and both can be used to exhaust memory."""


class Reader:
    """The state of a pass. `give`, if there is one, gets every case as it ends, and then none is kept here."""

    def __init__(self, give: Callable[[Case], None] | None = None) -> None:
        self.cases = Cases()
        self.properties: list[tuple[str, str]] = []
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.root: str | None = None
        self.begun = False
        self._give = give
        self._suites: list[SuiteSeen] = []
        self._rows = SuiteRows(suite="")
        self._kept_rows = self._rows.rows
        self._plain = 0  # cases of the suite that passed and said nothing, and are not counted in it yet
        self._told = give is not None  # whether the case says more
        self._case: dict[str, str] | None = None
        self._lines = Lines()
        self._at = 0  # the offset at which the case begins
        self._line = 0  # of the case, 0 while nobody has asked for it
        self._marks: list[tuple[str, Mapping[str, str]]] = []
        self._case_properties: list[tuple[str, str]] = []
        self._texts: dict[str, list[str]] = {}
        self._kept = 0
        self._inside = ""
        self._outside = ""  # the tag of what is read beside the cases
        self._all_texts = 0
        self._cut = 0
        self._parser = expat.ParserCreate(encoding="utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity

    def feed(self, chunks: Iterable[bytes]) -> Iterable[None]:
        """Parse piece by piece; to be iterated. Raises RefusedError and ExpatError."""
        for chunk in chunks:
            self._lines.feed(chunk)
            self._parser.Parse(chunk, False)
            if self._case is not None:
                self._find_line()
            yield None
        self._parser.Parse(b"", True)
        yield None

    @property
    def place(self) -> str:
        """Where it is: in words that follow `ends`."""
        if self._case is None:
            return "in the middle"
        return f"in the middle of the case {self._case.get('name', '')!r} of line {self._find_line()}"

    def finish(self) -> None:
        """Note what only the whole file tells."""
        for rows in self.cases.suites.values():
            for key, times in islice(rows.repeated.items(), 3):
                case = rows.case(key)
                where = f"{case.classname}::{case.name}" if case.classname else case.name
                self.notes.append(f"{where} is there {times} times and counts once, as {case.outcome.value}")
        if self._cut:
            self.notes.append(f"the texts of {self._cut} cases are kept in part")

    def _doctype(self, *_: object) -> None:
        raise RefusedError("document type declaration (DTD)")

    def _entity(self, *_: object) -> None:
        raise RefusedError("entity declaration")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase" and self.begun and self._case is None:
            self._case, self._at, self._line = attributes, self._parser.CurrentByteIndex, 0
            return
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        if self.root is None:
            self.root = tag
        if tag == "testcase":
            if self._case is not None:  # a case inside a case: the outer one must not get lost
                self._close(self._case)
            self._case, self._at, self._line = attributes, self._parser.CurrentByteIndex, 0
        elif tag in _SUITES:
            self._open(attributes)
        elif tag == "property":
            pair = (attributes.get("name", ""), attributes.get("value", ""))
            if self._case is None:
                self.properties.append(pair)
            else:
                self._case_properties.append(pair)
                self._told = True
        elif tag in _OUTPUTS:
            self._listen("output" if self._case is not None else "")
        elif self._case is not None and tag != "properties":
            self._mark(tag, attributes)
        elif tag in ("failure", "error") and self._suites:
            # No case has it, and yet something broke: it becomes a case of its own.
            self._suites[-1].outside += 1
            self._suites[-1].written -= 1
            self._case, self._outside = {"classname": self._suites[-1].path, "name": OUTSIDE}, tag
            self._at, self._line = self._parser.CurrentByteIndex, 0
            self._mark(tag, attributes)

    def _mark(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._marks.append((tag, attributes))
        self._told = True
        self._listen("text")

    def _open(self, attributes: dict[str, str]) -> None:
        self.begun = True
        name = attributes.get("name", "")
        path = " / ".join(filter(None, (self._suites[-1].path if self._suites else "", name)))
        self._settle()
        self._suites.append(SuiteSeen(path=path, claims=attributes, line=self._lines.of(self._parser.CurrentByteIndex)))
        self._enter(path)

    def _enter(self, path: str) -> None:
        """What follows belongs to that suite."""
        self._rows = self.cases.suite(path)
        self._kept_rows = self._rows.rows

    def _settle(self) -> None:
        """Count the cases that passed and said nothing in their suite."""
        if self._suites:
            self._suites[-1].written += self._plain
        self._plain = 0

    def _listen(self, inside: str) -> None:
        """Keep the text that follows, or none: each piece of it costs a call."""
        self._inside = inside
        self._parser.CharacterDataHandler = self._data if inside else None

    def _data(self, text: str) -> None:
        if self._kept < TEXT_LIMIT:
            self._told = True
            self._texts.setdefault(self._inside, []).append(text[: TEXT_LIMIT - self._kept])
            self._kept += len(text)

    def _end(self, tag: str) -> None:
        case = self._case
        if tag == "testcase" and case is not None:
            if self._told or not _SAID_IN.isdisjoint(case):
                self._close(case)
                return
            try:  # as nearly all are written
                key, time = f"{case['classname']}\0{case['name']}", float(case["time"])
            except (KeyError, ValueError):
                key, time = key_of(case.get("classname", ""), case.get("name", "")), -1.0
            if key in self._kept_rows:
                self._close(case)
                return
            if not 0 <= time < math.inf:
                time = UNKNOWN if (told := seconds(case.get("time"))) is None else told
            self._kept_rows[key] = time
            self._plain += 1
            self._case = None
            return
        if self._inside:
            self._listen("")
        tag = tag.rpartition(":")[2]
        if case is not None and tag in ("testcase", self._outside):
            self._close(case)
        elif tag in _SUITES and self._suites:
            self._settle()
            seen = self._suites.pop()
            self.problems += [Problem(kind=ProblemKind.COUNTS, text=words) for words in seen.disagreements()]
            if self._suites:
                seen.into(self._suites[-1])
            self._enter(self._suites[-1].path if self._suites else "")

    def _close(self, attributes: dict[str, str]) -> None:
        """A case has ended."""
        self._case, self._outside = None, ""
        case = self._finished(attributes)
        if self._suites:
            self._suites[-1].written += 1
            self._count(self._suites[-1])
        self._marks, self._case_properties, self._texts, self._kept = [], [], {}, 0
        self._told = self._give is not None
        if self._give is not None:
            self._give(case)
        else:
            self._add(case)

    def _count(self, seen: SuiteSeen) -> None:
        tags = [tag for tag, _ in self._marks if tag in FINAL]
        if tags:
            seen.marks.update(tags)
            seen.surplus += len(tags) - 1

    def _add(self, case: Case) -> None:
        rows, key = self._rows, key_of(case.classname, case.name)
        seen = self._suites[-1] if self._suites else None
        if key not in rows.rows:
            rows.rows[key] = case
            if seen is not None:
                seen.outcomes[case.outcome] += 1
            return
        before, joined = rows.fold(key, case)
        if seen is not None:
            seen.again += 1
            seen.outcomes[before.outcome] -= 1
            seen.outcomes[joined.outcome] += 1

    def _finished(self, attributes: Mapping[str, str]) -> Case:
        line = self._find_line()
        message = "; ".join(found for _, mark in self._marks if (found := mark.get("message")))
        outcome = marked(self._marks)
        if outcome is None:
            outcome, why = self._said(attributes)
            message = message or why
        whole = self._give is not None
        limit = TEXT_LIMIT if whole or self._all_texts < _TEXTS_LIMIT else _SHORT
        text = "".join(self._texts.get("text", [])).strip()
        if not whole:
            self._all_texts += min(len(text), limit) + min(len(message), limit)
            self._cut += limit < max(len(text), len(message))
        return Case(
            suite=self._rows.suite,
            classname=attributes.get("classname", ""),
            name=attributes.get("name", ""),
            outcome=outcome,
            seconds=seconds(attributes.get("time")),
            message=message[:limit],
            text=text[:limit],
            output="".join(self._texts.get("output", [])) if whole else "",
            properties=tuple(self._case_properties),
            line=line,
        )

    def _find_line(self) -> int:
        """The line in which the case begins."""
        self._line = self._line or self._lines.of(self._at)
        return self._line

    def _said(self, attributes: Mapping[str, str]) -> tuple[Outcome, str]:
        try:
            return said(attributes)
        except LookupError as error:
            text = f"line {self._line} says {error.args[0]}, a word that is not known"
            self.problems.append(Problem(kind=ProblemKind.STATUS, text=text))
            return Outcome.PASSED, ""
