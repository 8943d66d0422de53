"""Reads `tests/suites.yaml`: named sets of tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from stackproof.catalog.names import check_name
from stackproof.catalog.records import SuiteSpec
from stackproof.catalog.runners import runner
from stackproof.catalog.yaml_source import Section, read
from stackproof.errors import UsageError
from stackproof.shards import asked

DEFAULT_ROOT = "tests/integration"


@dataclass(frozen=True, kw_only=True, slots=True)
class Suites:
    """What `tests/suites.yaml` holds. root: the folder that recordings mirror. suites: name -> a set of tests."""

    root: str = DEFAULT_ROOT
    suites: dict[str, SuiteSpec] = field(default_factory=dict)


def load_suites(path: Path, *, shown: str) -> Suites:
    """All suites of a project; UsageError with file and line when something in the file is wrong."""
    file = read(path, what="the file of suites", shown=shown)
    file.only("root", "suites")
    inner = file.section("suites", "'suites'")
    suites = (
        {} if inner is None else {check_name(inner, "suite", n): _suite(n, s, path) for n, s in inner.sections("suite")}
    )
    return Suites(root=(file.text("root") or DEFAULT_ROOT).rstrip("/"), suites=suites)


def _together(section: Section) -> tuple[str, ...]:
    ways = section.texts("together")
    try:
        asked.check_together(ways, where=f"{section.what}, 'together'")
    except UsageError as error:
        section.fail(error.message, key="together", hint=error.hint)
    return ways


def _suite(name: str, section: Section, source: Path) -> SuiteSpec:
    section.only("description", "roots", "default_setup", "rules", "runner", "together")
    roots = section.texts("roots")
    if not roots:
        section.fail(f"{section.what} lacks 'roots'", key="roots")
    return SuiteSpec(
        name=name,
        description=section.required_text("description"),
        roots=roots,
        default_setup=section.required_text("default_setup"),
        rules=section.rules(),
        together=_together(section),
        # The file lies in tests/ of its project.
        runner=runner(section, source.parent.parent),
        source=source,
    )
