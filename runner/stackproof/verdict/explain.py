"""`stackproof policy explain`: what the release policy asks for, a sentence for each thing, with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from stackproof.evidence.live import VARIABLE
from stackproof.plaintext import counted, number
from stackproof.verdict import accepted, expected
from stackproof.verdict.expected import CLAIMS, Expectation
from stackproof.verdict.policy import (
    PATH,
    CellPolicy,
    DriftRule,
    FlakyPolicy,
    LivePolicy,
    Policy,
    RecordingsPolicy,
    Required,
    SealedRule,
    SourceRule,
    Waiver,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One thing that is asked for. line: of the policy, None where it says nothing and this is the default."""

    text: str
    line: int | None = None

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return "default" if self.line is None else f"{PATH.as_posix()}:{self.line}"


def explain(
    policy: Policy, expectations: Mapping[str, Expectation | None], accepted_types: int, today: date
) -> tuple[Asked, ...]:
    """Everything that the policy asks for, in its own order.

    expectations: by the name of what they are for, None where there is no file. accepted_types: how many errors.
    """
    lines = policy.lines
    return (
        *(_cell(cell, expectations.get(cell.id)) for cell in policy.cells),
        Asked(text=_source(policy.source), line=lines.get("source")),
        Asked(text=_sealed(policy.sealed), line=lines.get("sealed")),
        *(Asked(text=text, line=lines.get("recordings")) for text in _recordings(policy.recordings)),
        *(Asked(text=text, line=lines.get("typecheck")) for text in _types(policy, accepted_types)),
        *_benchmarks(policy),
        *(Asked(text=text, line=lines.get("claims")) for text in _claims(policy, expectations.get(CLAIMS))),
        *(Asked(text=text, line=lines.get("live")) for text in _live(policy.live)),
        *(Asked(text=text, line=lines.get("flaky")) for text in _flaky(policy.flaky)),
        *(Asked(text=_waiver(each, today), line=each.line) for each in policy.waivers),
    )


def _cell(cell: CellPolicy, expectation: Expectation | None) -> Asked:
    where = "" if cell.required is Required.ALWAYS else "; only where that can run, unless CI is set"
    tests = _tests(expectation, cell.id)
    return Asked(
        text=f"Suite {cell.suite} with setup {cell.setup} has run against {cell.stack}, in replay: {tests}{where}.",
        line=cell.line,
    )


def _tests(expectation: Expectation | None, name: str) -> str:
    if expectation is None:
        return f"{expected.path(name).as_posix()} is missing and does not say which tests"
    skipped = f", {len(expectation.skips)} of them skipped" if expectation.skips else ""
    marked = f", {len(expectation.xfails)} expected to fail" if expectation.xfails else ""
    return f"{counted(len(expectation.nodeids), 'test')}{skipped}{marked}"


def _source(source: SourceRule) -> str:
    match source:
        case SourceRule.COMMITTED:
            return "All evidence is of one Git commit, without changes that are not committed."
        case SourceRule.ANY:
            return "All evidence is of this commit; changes that are not committed are said, and do not count."


def _sealed(sealed: SealedRule) -> str:
    match sealed:
        case SealedRule.NAMESPACE:
            return "Every cell ran in a network namespace of its own: the kernel let nothing out."
        case SealedRule.SAID:
            return "Where a cell had only the tripwire to keep it off the network, that is said, and does not count."


def _recordings(limits: RecordingsPolicy) -> Iterator[str]:
    yield f"{_at_most(limits.missed, 'provider call misses its recording', 'provider calls miss their recording')}."
    for limit, one, many in (
        (limits.unused, "recording of a passing test is unused", "recordings of passing tests are unused"),
        (limits.damaged, "recording is damaged", "recordings are damaged"),
        (limits.late, "provider call comes after its test has ended", "provider calls come after their test has ended"),
        (limits.not_promoted, "recording is left behind by a test", "recordings are left behind by tests"),
        (
            limits.unnormalised,
            "recording would be written differently now",
            "recordings would be written differently now",
        ),
    ):
        if limit is not None:
            yield f"{_at_most(limit, one, many)}."
    if limits.max_age_days is not None:
        yield f"No recording is older than {counted(limits.max_age_days, 'day')}."
    yield "No recording holds a secret."


def _types(policy: Policy, accepted_types: int) -> Iterator[str]:
    wanted = policy.typecheck
    if wanted is None:
        return
    borne = f" but the {accepted_types} that {accepted.FILE.as_posix()} accepts" if accepted_types else ""
    yield f"mypy finds no error{borne} in {', '.join(wanted.paths)}."
    if wanted.every_file:
        yield "It has checked every Python file below them."
    if wanted.at_least is not None:
        yield f"It has checked at least {counted(wanted.at_least, 'file')}."
    if wanted.exactly is not None:
        yield f"It has checked exactly {counted(wanted.exactly, 'file')}."


def _benchmarks(policy: Policy) -> Iterator[Asked]:
    for each in policy.benchmarks:
        text = (
            f"The lower end of the 95 % interval of benchmark {each.name} is at most {each.gate:.2f} times its floor, "
            f"over at least {counted(each.samples, 'pair')}."
        )
        yield Asked(text=text, line=each.line)


def _claims(policy: Policy, expectation: Expectation | None) -> Iterator[str]:
    wanted = policy.claims
    if wanted is None:
        return
    many, asked = len(wanted.claims), len(wanted.required)
    which = f"All {counted(many, 'claim')}" if asked == many else f"{asked} of {counted(many, 'claim')}"
    tests = f"{', '.join(wanted.tests)}: {_tests(expectation, CLAIMS)}"
    yield f"{which} of {wanted.file.as_posix()} hold, by {tests}, within {number(wanted.timeout)} s."
    if asked != many:
        yield f"Required are {', '.join(name for name in wanted.claims if name in wanted.required)}."


def _live(live: LivePolicy | None) -> Iterator[str]:
    if live is None:
        return
    where = (
        ""
        if live.required is Required.ALWAYS
        else f"; where there is no evidence of one, that is said, and counts only where {VARIABLE} is set"
    )
    days = counted(live.max_age_days, "day")
    yield f"A live smoke of each of {', '.join(live.setups)} has passed within {days}{where}."
    match live.drift:
        case DriftRule.WARN:
            yield "Where its answers differ from the recordings, that is said, and does not count."
        case DriftRule.FAIL:
            yield "Its answers do not break with the recordings; what is new in them is said, and does not count."


def _flaky(flaky: FlakyPolicy) -> Iterator[str]:
    words = "test passes only when it runs again", "tests pass only when they run again"
    rest = " in all other suites together" if flaky.suites else ""
    yield f"{_at_most(flaky.allowed, *words)}{rest}."
    for suite, allowed in flaky.suites.items():
        yield f"In suite {suite}: {_at_most(allowed, *words)[0].lower()}{_at_most(allowed, *words)[1:]}."


def _waiver(waiver: Waiver, today: date) -> str:
    where = "any cell" if waiver.cell is None else waiver.cell
    words = f"{waiver.reason} ({waiver.owner})"
    if today > waiver.expires:
        return f"{waiver.test} was borne in {where} until {waiver.expires.isoformat()}, which is over: {words}."
    return f"{waiver.test} may fail in {where} until {waiver.expires.isoformat()}: {words}."


def _at_most(limit: int, one: str, many: str) -> str:
    return f"No {one}" if limit == 0 else f"At most {limit} {one if limit == 1 else many}"
