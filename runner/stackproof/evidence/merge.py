"""One JUnit report over all cells of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from stackproof.evidence import jsonfile
from stackproof.evidence.junit import Case, Report
from stackproof.evidence.outcomes import Counts, Outcome, count
from stackproof.evidence.xmltext import clean


def to_xml(reports: Mapping[str, Report], more: Mapping[str, Iterable[Case]] | None = None) -> str:
    """A `testsuites` document with one suite per cell; no case, property or failure text is lost.

    The cell's id is the suite's name and the first part of each class name, so that viewers which fold suites keep two
    cells apart. `more` are suites of other cases. Reports that are one and the same file count once.
    """
    root = ET.Element("testsuites")
    for name, report in unique(reports).items():
        _suite(root, name, report.cases, report.properties)
    for name, cases in (more or {}).items():
        _suite(root, name, tuple(cases), ())
    total = count(case.outcome for report in unique(reports).values() for case in report.cases)
    extra = count(case.outcome for cases in (more or {}).values() for case in cases)
    for attribute, number in _numbers(total).items():
        root.set(attribute, str(number + _numbers(extra)[attribute]))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def write(path: Path, reports: Mapping[str, Report], more: Mapping[str, Iterable[Case]] | None = None) -> None:
    """Write what `to_xml` makes."""
    jsonfile.write_text(path, to_xml(reports, more))


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


def _suite(root: ET.Element, name: str, cases: Iterable[Case], properties: Iterable[tuple[str, str]]) -> None:
    listed = list(cases)
    suite = ET.SubElement(root, "testsuite", name=clean(name))
    for attribute, number in _numbers(count(case.outcome for case in listed)).items():
        suite.set(attribute, str(number))
    known = [case.seconds for case in listed if case.seconds is not None]
    if known:
        suite.set("time", f"{sum(known):.3f}")
    _properties(suite, properties)
    for case in listed:
        _case(suite, name, case)


def _case(suite: ET.Element, name: str, case: Case) -> None:
    classname = ".".join(filter(None, (name, case.classname)))
    element = ET.SubElement(suite, "testcase", classname=clean(classname), name=clean(case.name))
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    _properties(element, case.properties)
    match case.outcome:
        case Outcome.FAILED:
            _mark(element, "failure", case)
        case Outcome.ERROR:
            _mark(element, "error", case)
        case Outcome.SKIPPED:
            _mark(element, "skipped", case, kind="pytest.skip")
        case Outcome.XFAILED:
            _mark(element, "skipped", case, kind="pytest.xfail")
        case Outcome.XPASSED:
            _mark(element, "skipped", case, kind="pytest.xpass")
        case Outcome.FLAKY:
            _mark(element, "flakyFailure", case)
        case Outcome.PASSED:
            pass
    if case.output:
        ET.SubElement(element, "system-out").text = clean(case.output)


def _mark(element: ET.Element, tag: str, case: Case, *, kind: str | None = None) -> None:
    mark = ET.SubElement(element, tag, message=clean(case.message))
    if kind is not None:
        mark.set("type", kind)
    mark.text = clean(case.text)


def _properties(element: ET.Element, properties: Iterable[tuple[str, str]]) -> None:
    listed = list(properties)
    if listed:
        inner = ET.SubElement(element, "properties")
        for name, value in listed:
            ET.SubElement(inner, "property", name=clean(name), value=clean(value))


def _numbers(counts: Counts) -> dict[str, int]:
    return {
        "tests": counts.total,
        "failures": counts.failed,
        "errors": counts.errors,
        "skipped": counts.skipped + counts.xfailed + counts.xpassed,
    }
