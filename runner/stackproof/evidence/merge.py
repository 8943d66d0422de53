"""One JUnit report over all cells of a run, written case by case: no report is ever held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import assert_never

from stackproof.evidence import jsonfile, junit, nodeids
from stackproof.evidence.junit_case import Case, Report
from stackproof.evidence.junit_cases import Cases, both, identical, key_of
from stackproof.evidence.junit_files import CasesOfFiles
from stackproof.evidence.outcomes import Counts, Outcome, count
from stackproof.evidence.xmltext import attribute, content

Change = Callable[[Sequence[Case]], Iterable[Case]]
"""Makes of a few hundred cases what is to be written of them."""

_AT_ONCE = 500


def to_xml(reports: Mapping[str, Report], more: Mapping[str, Iterable[Case]] | None = None) -> str:
    """A `testsuites` document with one suite per cell; no case, property or failure text is lost.

    The cell's id is the suite's name and the first part of each class name, so that viewers which fold suites keep two
    cells apart. A test has its `file` where the log beside the report tells it, for GitLab. `more` are suites of
    other cases. Reports that are one and the same file count once.
    """
    return "".join(pieces(reports, more))


def write(
    path: Path,
    reports: Mapping[str, Report],
    more: Mapping[str, Iterable[Case]] | None = None,
    *,
    change: Change = tuple,
) -> None:
    """Write what `to_xml` makes, in bounded memory. change: of the cases of `reports`, a few hundred at a time."""
    jsonfile.write_pieces(path, pieces(reports, more, change=change))


def pieces(
    reports: Mapping[str, Report], more: Mapping[str, Iterable[Case]] | None = None, *, change: Change = tuple
) -> Iterator[str]:
    """The document in pieces. Of a report that was read from a file, its cases are read again as they are written."""
    once = unique(reports)
    others = {name: list(cases) for name, cases in (more or {}).items()}
    numbers = [_numbers(report.counts) for report in once.values()]
    numbers += [_numbers(count(case.outcome for case in cases)) for cases in others.values()]
    totals = {key: sum(each[key] for each in numbers) for key in _numbers(Counts())}
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites{_attributes(totals)}>\n'
    for (name, report), own in zip(once.items(), numbers, strict=False):
        yield from _suite(name, own, _seconds(report.cases), report.properties, _parts(report, change))
    for (name, cases), own in zip(others.items(), numbers[len(once) :], strict=True):
        yield from _suite(name, own, _seconds(cases), (), ((case, None) for case in cases))
    yield "</testsuites>\n"


def _parts(report: Report, change: Change) -> Iterator[tuple[Case, str | None]]:
    """The cases of a report with their files; of one that is made of several, one after the other."""
    several = report.cases if isinstance(report.cases, CasesOfFiles) else None
    files: dict[str, str] = {}

    def cases() -> Iterator[Case]:
        for part in (report,) if several is None else several.reports():
            files.update(_files(part))
            yield from _whole(part)

    whole = cases() if several is None else several.folded(cases())
    yield from ((case, files.get(case.classname)) for case in _changed(whole, change))


def _changed(cases: Iterator[Case], change: Change) -> Iterator[Case]:
    while some := list(islice(cases, _AT_ONCE)):
        yield from change(some)


def unique(reports: Mapping[str, Report]) -> dict[str, Report]:
    """The reports without those whose file was seen before under another name."""
    seen: set[Path] = set()
    found: dict[str, Report] = {}
    for name, report in reports.items():
        path = report.path.resolve()
        if path not in seen:
            seen.add(path)
            found[name] = report
    return found


def _whole(report: Report) -> Iterator[Case]:
    """The folded cases of a report, with what tests wrote where they come from a file."""
    if not isinstance(report.cases, Cases):
        yield from report.cases
        return
    twice = {(suite, key): times for suite, rows in report.cases.suites.items() for key, times in rows.repeated.items()}
    waiting: dict[tuple[str, str], Case] = {}
    for case in junit.stream(report.path):
        place = (case.suite, key_of(case.classname, case.name))
        if place not in twice:
            yield case
            continue
        before = waiting.get(place)
        joined = case if before is None else before if identical(before, case) else both(before, case)
        waiting[place] = joined
        twice[place] -= 1
        if not twice[place]:
            yield waiting.pop(place)
    yield from waiting.values()  # the file is not what it was


def _files(report: Report) -> dict[str, str]:
    """Files by class name, as the session beside the report has collected them; empty where none has told."""
    blocks = jsonfile.blocks(report.path.with_name("tests.jsonl"))
    # Each worker begins with what it has collected; all else is passed over, and not parsed.
    lines = (jsonfile.parsed(line) for block in blocks for line in block.split("\n") if '"collected"' in line)
    said = (line for line in lines if line and line.get("event") == "collected")
    return nodeids.files(nodeid for line in said for nodeid in jsonfile.strings(line, "nodeids"))


def _seconds(cases: Iterable[Case]) -> float | None:
    if isinstance(cases, Cases | CasesOfFiles):
        return cases.seconds
    known = [case.seconds for case in cases if case.seconds is not None]
    return sum(known) if known else None


def _suite(
    name: str,
    numbers: Mapping[str, int],
    seconds: float | None,
    properties: Iterable[tuple[str, str]],
    cases: Iterable[tuple[Case, str | None]],
) -> Iterator[str]:
    time = "" if seconds is None else f' time="{seconds:.3f}"'
    yield f"  <testsuite name={attribute(name)}{_attributes(numbers)}{time}>\n"
    yield _properties(properties, "    ")
    for case, file in cases:
        yield _case(name, case, file)
    yield "  </testsuite>\n"


def _case(cell: str, case: Case, file: str | None) -> str:
    classname = ".".join(filter(None, (cell, case.classname)))
    time = "" if case.seconds is None else f' time="{case.seconds:.3f}"'
    inner = _properties(case.properties, "      ") + _mark(case)
    if case.output:
        inner += f"      <system-out>{content(case.output)}</system-out>\n"
    place = "" if file is None else f" file={attribute(file)}"
    head = f"    <testcase classname={attribute(classname)} name={attribute(case.name)}{place}{time}"
    return f"{head}>\n{inner}    </testcase>\n" if inner else f"{head} />\n"


def _mark(case: Case) -> str:
    match case.outcome:
        case Outcome.PASSED:
            return ""
        case Outcome.FAILED:
            tag, kind = "failure", ""
        case Outcome.ERROR:
            tag, kind = "error", ""
        case Outcome.SKIPPED:
            tag, kind = "skipped", ' type="pytest.skip"'
        case Outcome.XFAILED:
            tag, kind = "skipped", ' type="pytest.xfail"'
        case Outcome.XPASSED:
            tag, kind = "skipped", ' type="pytest.xpass"'
        case Outcome.FLAKY:
            tag, kind = "flakyFailure", ""
        case _:
            assert_never(case.outcome)
    return f"      <{tag} message={attribute(case.message)}{kind}>{content(case.text)}</{tag}>\n"


def _properties(properties: Iterable[tuple[str, str]], indent: str) -> str:
    inner = "".join(
        f"{indent}  <property name={attribute(name)} value={attribute(value)} />\n" for name, value in properties
    )
    return f"{indent}<properties>\n{inner}{indent}</properties>\n" if inner else ""


def _attributes(numbers: Mapping[str, int]) -> str:
    return "".join(f' {name}="{number}"' for name, number in numbers.items())


def _numbers(counts: Counts) -> dict[str, int]:
    return {
        "tests": counts.total,
        "failures": counts.failed,
        "errors": counts.errors,
        "skipped": counts.skipped + counts.xfailed + counts.xpassed,
    }
