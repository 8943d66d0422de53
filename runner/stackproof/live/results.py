"""What came of each model, from its cell's folder: green only with a call that was seen and a test that passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stackproof.drift.nature import is_refusal
from stackproof.errors import ExitCode
from stackproof.evidence import drift, jsonfile, testlog
from stackproof.evidence.drift import DriftFacts
from stackproof.evidence.live import DriftCounts, LiveOutcome
from stackproof.evidence.outcomes import Counts, count
from stackproof.evidence.testlog import TestEntry
from stackproof.live import address, refusals
from stackproof.live.budgets import Spent
from stackproof.live.opt_in import LiveModel
from stackproof.run.cell_run import CellOutcome

# A call that went out, whether or not its answer is of use.
_WENT_OUT = frozenset({"observed", "dropped"})
_NONE_GOOD = "no call of them was answered with success"
_SIGNALS = (ExitCode.SIGINT, ExitCode.SIGTERM)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelResult:
    """One model. title: `provider/model`, or the provider alone where no model was named.

    reason: one sentence, where it did not pass. requests: of its tests, retries among them. refused: of these, the
    ones without an answer, or with one that is of the moment or the account. tokens: in and out. drift: None where
    nothing was compared. called: the hosts, or the service in their place. own_address: whether the setup itself names
    them all.
    """

    title: str
    setup: str
    outcome: LiveOutcome
    reason: str | None = None
    tests: Counts = field(default_factory=Counts)
    requests: int = 0
    refused: int = 0
    retries: int = 0
    tokens: tuple[int, int] = (0, 0)
    drift: DriftCounts | None = None
    called: tuple[str, ...] = ()
    own_address: bool = False


def of_cell(models: Sequence[LiveModel], ran: CellOutcome, spent: Spent) -> list[ModelResult]:
    """Each model of a cell that has run, however it ended. spent: what its budget says."""
    titles = [model.title for model in models]
    log = testlog.read(ran.cell_dir / "tests.jsonl")
    calls = [call for call in jsonfile.lines(ran.cell_dir / "calls.jsonl") if call and call.get("kind") in _WENT_OUT]
    drifted = drift.read(ran.cell_dir / drift.NAME)
    found = []
    for model in models:
        own = [entry for nodeid, entry in log.tests.items() if _whose(nodeid, titles) in (model.title, None)]
        mine = [call for call in calls if _whose(str(call.get("test_id") or ""), titles) == model.title]
        asked = {model.provider, *(name for call in mine if (name := jsonfile.text(call, "provider")) is not None)}
        service = None if ran.cell.service is None else ran.cell.service.name
        hosts, own_address = address.called(asked, ran.cell.setup, model.variables, service)
        result = ModelResult(
            title=model.title,
            setup=model.setup,
            called=hosts,
            own_address=own_address,
            outcome=LiveOutcome.PASSED,
            tests=count(entry.outcome for entry in own),
            requests=len(mine),
            refused=sum(is_refusal(jsonfile.number(call, "status")) for call in mine),
            retries=sum(call.get("retry") is True for call in mine),
            tokens=(_tokens(mine, "input"), _tokens(mine, "output")),
            drift=None if drifted is None else _drift(drifted, model.title, titles),
        )
        # The cell may have failed by the tests of another model alone.
        others = len(models) > 1 and any(entry.outcome.bad for entry in log.tests.values() if entry not in own)
        lost = any(_whose(nodeid, titles) == model.title for nodeid in set(log.collected or ()) - set(log.tests))
        code = ExitCode.PASS if ran.exit_code is ExitCode.TESTS and others and not lost else ran.exit_code
        outcome, reason = _outcome(result, own, mine, replace(ran, exit_code=code), spent)
        found.append(replace(result, outcome=outcome, reason=reason))
    return found


def worst(outcomes: Iterable[LiveOutcome], *, require: bool) -> LiveOutcome:
    """Of a whole smoke: what was skipped spoils it only where `require` says so, and is all of it where all was."""
    found = set(outcomes)
    bad = max(found - {LiveOutcome.SKIPPED}, key=lambda outcome: outcome.severity, default=LiveOutcome.SKIPPED)
    if bad is LiveOutcome.PASSED and require and LiveOutcome.SKIPPED in found:
        return LiveOutcome.BLOCKED
    return bad


def exit_codes(results: Sequence[ModelResult], cells: Iterable[CellOutcome], *, require: bool) -> list[ExitCode]:
    """Those of which the worst is that of the smoke.

    A cell whose failures are all a refused key or used-up credit is not proven, as one whose budget has ended is: its
    tests say nothing about the stack.
    """
    codes = []
    for cell in cells:
        own = [result for result in results if result.setup == cell.cell.setup.name]
        failed = any(result.outcome is LiveOutcome.FAILED for result in own)
        unproven = cell.exit_code in (ExitCode.TESTS, ExitCode.NOTHING_RAN) and not failed
        codes.append(ExitCode.NOT_PROVEN if unproven else cell.exit_code)
    outcomes = {result.outcome for result in results}
    if outcomes & {LiveOutcome.BLOCKED, LiveOutcome.STOPPED} or (require and LiveOutcome.SKIPPED in outcomes):
        codes.append(ExitCode.NOT_PROVEN)
    if LiveOutcome.FAILED in outcomes and set(codes) <= {ExitCode.PASS, ExitCode.NOT_PROVEN}:
        codes.append(ExitCode.TESTS)
    return codes


def _whose(nodeid: str, titles: Sequence[str]) -> str | None:
    """The model that a test's name names, the longest that fits; where there is one model, all tests are of it."""
    if len(titles) == 1:
        return titles[0]
    inside = nodeid.partition("[")[2]
    return max((title for title in titles if title in inside), key=len, default=None)


def _outcome(
    result: ModelResult,
    entries: Sequence[TestEntry],
    calls: Sequence[Mapping[str, Any]],
    ran: CellOutcome,
    spent: Spent,
) -> tuple[LiveOutcome, str | None]:
    bad = [entry for entry in entries if entry.outcome.bad]
    passed = sum(entry.outcome.passed for entry in entries)
    refused = refusals.behind(bad, calls)
    # The first that fits.
    rows: tuple[tuple[object, LiveOutcome, str], ...] = (
        (ran.exit_code in _SIGNALS, LiveOutcome.STOPPED, ran.summary),
        (bad and refused, LiveOutcome.BLOCKED, refused or ""),
        (bad, LiveOutcome.FAILED, _failed(result.tests, bad)),
        (spent.ended_by, LiveOutcome.STOPPED, spent.sentence),
        (ran.exit_code in (ExitCode.TESTS, ExitCode.RECORDINGS), LiveOutcome.FAILED, ran.summary),
        (not entries and ran.exit_code is not ExitCode.PASS, LiveOutcome.BLOCKED, ran.summary),
        (not entries, LiveOutcome.BLOCKED, "no test was run with it"),
        (not passed, LiveOutcome.BLOCKED, f"no test passed: {_skipped(result.tests, entries)}"),
        (not calls, LiveOutcome.BLOCKED, f"{result.tests.words()}, and no call of them was observed"),
        # A test that catches every error passes with whatever it is told.
        (not any(_is_good(call) for call in calls), LiveOutcome.BLOCKED, f"{result.tests.words()}, and {_NONE_GOOD}"),
        (ran.exit_code is not ExitCode.PASS, LiveOutcome.BLOCKED, ran.summary),
    )
    return next(((outcome, reason) for fits, outcome, reason in rows if fits), (LiveOutcome.PASSED, None))


def _is_good(call: Mapping[str, Any]) -> bool:
    return 200 <= (jsonfile.number(call, "status") or 0) < 300


def _failed(tests: Counts, bad: Sequence[TestEntry]) -> str:
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return f"{tests.words()}: {', '.join(entry.nodeid for entry in bad[:1])}{more}"


def _skipped(tests: Counts, entries: Sequence[TestEntry]) -> str:
    reasons = dict.fromkeys(entry.reason.removeprefix("Skipped: ") for entry in entries if entry.reason)
    return tests.words() + (f" ({next(iter(reasons))})" if reasons else "")


def _tokens(calls: Iterable[Mapping[str, Any]], way: str) -> int:
    return sum(jsonfile.number(jsonfile.table(call, "tokens"), way) or 0 for call in calls)


def _drift(found: DriftFacts, title: str, titles: Sequence[str]) -> DriftCounts | None:
    """Of one of several models, what is listed of it: the counts are of all of them."""
    if not found.compared and not found.unrecorded:
        return None
    if len(titles) == 1:
        return DriftCounts(
            breaking=found.breaking, additive=found.additive, note=found.note, unrecorded=found.unrecorded
        )
    kinds = [entry.severity for entry in found.differences if _whose(entry.test, titles) == title]
    return DriftCounts(
        breaking=kinds.count("breaking"),
        additive=kinds.count("additive"),
        note=kinds.count("note"),
        unrecorded=sum(entry.calls for entry in found.unrecorded_calls if _whose(entry.test, titles) == title),
    )
