"""`ci/release.yaml`: what must be there before a release, as frozen records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from stackproof.catalog.yaml_source import Section, read
from stackproof.errors import UsageError
from stackproof.faults import claim_file
from stackproof.faults.claim_file import Claim
from stackproof.suggest import did_you_mean
from stackproof.verdict.policy_records import (
    CLAIMS_TIMEOUT,
    LIVE_MAX_AGE,
    BenchmarkPolicy,
    CellPolicy,
    ClaimsPolicy,
    DriftRule,
    FlakyPolicy,
    LivePolicy,
    Policy,
    RecordingsPolicy,
    Required,
    SealedRule,
    SourceRule,
    TypecheckPolicy,
    Waiver,
)

__all__ = [
    "PATH",
    "BenchmarkPolicy",
    "CellPolicy",
    "ClaimsPolicy",
    "DriftRule",
    "FlakyPolicy",
    "LivePolicy",
    "Policy",
    "RecordingsPolicy",
    "Required",
    "SealedRule",
    "SourceRule",
    "TypecheckPolicy",
    "Waiver",
    "claims_of",
    "load",
]

PATH = Path("ci/release.yaml")
VERSION = 1
_LEAST = """`stackproof init` writes one; the least that it says:
  version: 1
  cells: [{suite: SUITE, setup: SETUP, stack: "MODE:STACK"}]"""
ALL = "all"
_SECTIONS = (
    "version", "cells", "source", "sealed", "recordings", "typecheck", "benchmarks", "claims", "live", "flaky",
    "waivers",
)  # fmt: skip

Choice = TypeVar("Choice", bound=StrEnum)


def load(project: Path) -> Policy:
    """Read the project's policy, and the claims file that it names; UsageError with file and line for everything that
    is wrong in them.
    """
    if not (project / PATH).exists():
        raise UsageError(f"there is no {PATH.as_posix()}, which says what must be there before a release", hint=_LEAST)
    file = read(project / PATH, what="the release policy", shown=PATH.as_posix())
    file.only(*_SECTIONS)
    if file.integer("version", minimum=1) != VERSION:
        file.fail(f"the release policy must say 'version: {VERSION}'", key="version")
    cells = tuple(_cell(section) for section in file.items("cells", "cell {}".format))
    if not cells:
        file.fail("the release policy lists no cell, so nothing could be proven", key="cells")
    ids = [cell.id for cell in cells]
    if doubled := next((each for each in ids if ids.count(each) > 1), None):
        file.fail(f"cell {doubled!r} is listed twice", key="cells")
    return Policy(
        cells=cells,
        source=_choice(file, "source", SourceRule, SourceRule.COMMITTED),
        sealed=_choice(file, "sealed", SealedRule, SealedRule.SAID),
        recordings=_recordings(file.section("recordings", "'recordings'")),
        typecheck=_typecheck(file.section("typecheck", "'typecheck'")),
        benchmarks=tuple(_benchmarks(file.section("benchmarks", "'benchmarks'"))),
        claims=_claims(file.section("claims", "'claims'"), project),
        live=_live(file.section("live", "'live'")),
        flaky=_flaky(file.section("flaky", "'flaky'"), sorted({cell.suite for cell in cells})),
        waivers=tuple(_waiver(section, ids) for section in file.items("waivers", "waiver {}".format)),
        lines=dict(file.data.lines),
    )


def claims_of(project: Path) -> ClaimsPolicy:
    """What the project's policy says about claims; UsageError where it says nothing."""
    wanted = load(project).claims
    if wanted is None:
        raise UsageError(
            f"{PATH.as_posix()} names no claims",
            hint="add: claims: {file: tests/faults/claims.yaml, tests: [tests/faults]}",
        )
    return wanted


def _flaky(section: Section | None, known: list[str]) -> FlakyPolicy:
    if section is None:
        return FlakyPolicy()
    section.only("allowed", "suites")
    inner = section.section("suites", "'suites' in 'flaky'")
    suites = {}
    for name in inner.data if inner is not None else ():
        assert inner is not None  # noqa: S101 - it has names
        if name not in known:
            inner.fail(
                f"a flaky budget for suite {name!r}, of which no cell is listed{did_you_mean(name, known)}", key=name
            )
        suites[name] = inner.integer(name, minimum=0) or 0
    return FlakyPolicy(allowed=section.integer("allowed", minimum=0) or 0, suites=suites)


def _cell(section: Section) -> CellPolicy:
    section.only("suite", "setup", "stack", "required")
    stack = section.required_text("stack")
    mode, colon, name = stack.partition(":")
    if not (mode and colon and name):
        section.fail(f"stack {stack!r} must be a mode and a name, as 'server:reference'", key="stack")
    return CellPolicy(
        suite=section.required_text("suite"),
        setup=section.required_text("setup"),
        stack=stack,
        required=_choice(section, "required", Required, Required.ALWAYS),
        line=section.data.line,
    )


def _typecheck(section: Section | None) -> TypecheckPolicy | None:
    if section is None:
        return None
    section.only("paths", "every_file", "at_least", "exactly")
    paths = section.texts("paths")
    if not paths:
        section.fail("'typecheck' lacks 'paths'", key="paths")
    return TypecheckPolicy(
        paths=paths,
        every_file=section.boolean("every_file", default=True),
        at_least=section.integer("at_least", minimum=1),
        exactly=section.integer("exactly", minimum=1),
    )


def _benchmarks(section: Section | None) -> Iterator[BenchmarkPolicy]:
    if section is None:
        return
    for name, inner in section.sections("benchmark"):
        inner.only("gate", "samples")
        gate = inner.data.get("gate")
        if not isinstance(gate, int | float) or isinstance(gate, bool) or not 1 <= gate < float("inf"):
            inner.fail(f"{inner.what} needs a 'gate', a ratio of at least 1", key="gate")
        samples = inner.integer("samples", minimum=6)
        yield BenchmarkPolicy(
            name=name, gate=float(gate), samples=20 if samples is None else samples, line=section.data.lines[name]
        )


def _claims(section: Section | None, project: Path) -> ClaimsPolicy | None:
    if section is None:
        return None
    section.only("file", "tests", "required", "timeout")
    file = Path(section.required_text("file"))
    if not (project / file).is_file():
        section.fail(f"there is no claims file {file.as_posix()}", key="file")
    tests = section.texts("tests")
    if not tests:
        section.fail("'claims' lacks 'tests', the paths of the tests that serve them", key="tests")
    for path in tests:
        if not (project / path.partition("::")[0]).exists():
            section.fail(f"'tests' of 'claims' names {path}, which does not exist", key="tests")
    claims = claim_file.load(project, file)
    timeout = section.seconds("timeout")
    return ClaimsPolicy(
        file=file,
        claims=claims,
        tests=tests,
        required=_required(section, claims),
        timeout=CLAIMS_TIMEOUT if timeout is None else timeout,
    )


def _required(section: Section, claims: Mapping[str, Claim]) -> frozenset[str]:
    if section.data.get("required", ALL) == ALL:
        return frozenset(claims)
    names = section.texts("required") if isinstance(section.data["required"], list) else ()
    if not names:
        section.fail("'required' of 'claims' must be 'all' or a list of claims", key="required")
    for name in names:
        if name not in claims:
            section.fail(f"'required' of 'claims' names {name!r}{did_you_mean(name, claims)}", key="required")
    return frozenset(names)


def _live(section: Section | None) -> LivePolicy | None:
    if section is None:
        return None
    section.only("setups", "max_age_days", "drift", "required", "hosts")
    setups = section.texts("setups")
    if not setups:
        section.fail("'live' lacks 'setups', the setups of which a live smoke has passed", key="setups")
    if doubled := next((each for each in setups if setups.count(each) > 1), None):
        section.fail(f"setup {doubled!r} is listed twice in 'live'", key="setups")
    return LivePolicy(
        setups=setups,
        max_age_days=section.integer("max_age_days", minimum=1) or LIVE_MAX_AGE,
        drift=_choice(section, "drift", DriftRule, DriftRule.WARN),
        required=_choice(section, "required", Required, Required.ALWAYS),
        hosts=section.texts("hosts"),
    )


def _recordings(section: Section | None) -> RecordingsPolicy:
    if section is None:
        return RecordingsPolicy()
    section.only("missed", "unused", "damaged", "late", "not_promoted", "unnormalised", "max_age_days")

    def limit(key: str) -> int | None:
        return section.integer(key, minimum=0)

    default = RecordingsPolicy()
    return RecordingsPolicy(
        missed=limit("missed") or 0,
        unused=limit("unused") if "unused" in section.data else default.unused,
        damaged=limit("damaged") or 0,
        late=limit("late"),
        not_promoted=limit("not_promoted") if "not_promoted" in section.data else default.not_promoted,
        unnormalised=limit("unnormalised"),
        max_age_days=limit("max_age_days"),
    )


def _waiver(section: Section, cells: list[str]) -> Waiver:
    section.only("test", "cell", "reason", "owner", "expires")
    cell = section.text("cell")
    if cell is not None and cell not in cells:
        section.fail(f"waiver for a cell that is not listed: {cell!r}{did_you_mean(cell, cells)}", key="cell")
    return Waiver(
        test=section.required_text("test"),
        reason=section.required_text("reason"),
        owner=section.required_text("owner"),
        expires=_day(section, "expires"),
        cell=cell,
        line=section.data.line,
    )


def _day(section: Section, key: str) -> date:
    value = section.data.get(key)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        section.fail(f"{key!r} in {section.what} must be a day, as 2030-12-31", key=key)


def _choice(section: Section, key: str, kind: type[Choice], default: Choice) -> Choice:
    text = section.text(key)
    if text is None:
        return default
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(each.value for each in kind)
        section.fail(f"{key!r} in {section.what} must be one of: {known}; not {text!r}", key=key)
