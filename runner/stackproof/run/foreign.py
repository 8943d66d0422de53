"""Suites of other runners than pytest: their command, and what its JUnit report makes of log and recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stackproof import secret_values
from stackproof.catalog.runners import RunnerSpec
from stackproof.catalog.templates import filled
from stackproof.edge import places
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import jsonfile, junit
from stackproof.evidence.junit import Case
from stackproof.evidence.outcomes import Outcome
from stackproof.live import scrub
from stackproof.options import RunOptions
from stackproof.plaintext import number
from stackproof.plan import Cell
from stackproof.plugin import afterwards, budgeting, faulting, keeping, tally
from stackproof.plugin.journal import Journal
from stackproof.recorder import elsewhere
from stackproof.recorder.brain import Brain
from stackproof.recorder.scope import STACK_NAME, Scope
from stackproof.recorder.settings import VARIABLE, Settings
from stackproof.run.suite import SuiteEnd
from stackproof.stack import prepared
from stackproof.stack.process import Process, describe_exit, last_lines, tail

LOG = "tests.log"
_REPORT = "junit.xml"
_IN_FLIGHT = 5.0
_NO_TESTS = 5  # pytest's number for it, which the rest of a run knows


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """What a runner's end means in pytest's numbers, None where it got to no end; error: as outcome.json has it."""

    code: int | None
    error: dict[str, Any] | None = None


def process(
    cell: Cell,
    runner: RunnerSpec,
    options: RunOptions,
    *,
    prefix: Sequence[str],
    variables: Mapping[str, str],
    caller: Mapping[str, str],
    cell_dir: Path,
    shown: bool,
) -> Process:
    """The command of a suite, not started yet. shown: it writes to our terminal, to which nobody adds or takes away.

    UsageError where the stack hands no ids on; raises what `prepared.make` raises.
    """
    _refuse_without_ids(runner, cell, cell_dir)
    home = folder = runner.folder
    if runner.prepare is not None:
        home = prepared.make(f"{cell.suite.name}-tests", runner.prepare, runner.folder, environment=caller)
        folder = prepared.placed(home, runner.folder)
    settings = Settings.from_json(variables[VARIABLE])
    # For whoever looks after a run that was killed. Where providers are, nobody needs to know then.
    facts = replace(settings, providers=(), command="", stack_url=None)
    (cell_dir / "recorder.json").write_text(facts.to_json() + "\n", encoding="utf-8")
    return Process(
        name=runner.name,
        command=[*prefix, *_command(runner, options, cell, home=home, folder=folder, cell_dir=cell_dir)],
        environment={
            **variables,
            "STACKPROOF_ID_HEADER": settings.header,
            "STACKPROOF_TEST_FOLDER": runner.shown,
        },
        cwd=folder,
        log=None if shown else cell_dir / LOG,
        interactive=shown,
    )


def _refuse_without_ids(runner: RunnerSpec, cell: Cell, cell_dir: Path) -> None:
    """At an edge, ids that the stack does not hand on are announced by pytest's plugin, and by nobody else."""
    facts = jsonfile.read(cell_dir / places.FILE)
    if facts is None or not facts.get("serial"):
        return
    raise UsageError(
        f"stack {cell.stack.name!r} hands no test ids on ({facts.get('why')}), and {runner.name} announces none: "
        "nobody could tell whose a provider call is",
        hint="have the stack send the id header or W3C baggage along with its provider calls, and name a `probe` that "
        "shows it in `edge` of its stack.yaml",
    )


def _command(
    runner: RunnerSpec, options: RunOptions, cell: Cell, *, home: Path, folder: Path, cell_dir: Path
) -> list[str]:
    values = {"junit": str(cell_dir.absolute() / _REPORT), "prepared": str(home), "folder": str(folder)}
    words = list(runner.command)
    for name, arguments in runner.options.items():
        if (value := getattr(options, name)) is not None:
            text = number(value) if isinstance(value, float) else str(value)
            given = {"value": text}
            if isinstance(value, float):
                given["milliseconds"] = f"{value * 1000:.0f}"
            words += [filled(part, given) for part in arguments]
    if options.file or options.subdirs:
        files = dict.fromkeys(path.partition("::")[0] for path in cell.paths)
        words += [path.removeprefix(f"{runner.shown}/") for path in files if path != runner.shown]
    return [*(filled(part, values) for part in words), *options.pytest_args]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Test:
    """A test of the report, and its scope in the last of its attempts."""

    case: Case
    owner: Scope


def settle(
    runner: RunnerSpec, ended: SuiteEnd, *, variables: Mapping[str, str], cell_dir: Path, stopped: bool
) -> Settled:
    """Write the log of the tests from the report, and keep or drop what they recorded. stopped: by us, too early."""
    settings = Settings.from_json(variables[VARIABLE])
    brain = Brain(settings, {})
    journal = Journal(cell_dir / "tests.jsonl")
    kept = keeping.Kept()
    try:
        if secret_values.may_be_told(settings.mode):
            # First of all, as everything else is made of these: providers repeat the key that they do not take.
            secrets = secret_values.known(settings.secrets, variables)
            for name in (_REPORT, LOG):
                scrub.file(cell_dir / name, secrets)
        there = elsewhere.fetch(settings.run_dir)
        report = junit.read(cell_dir / _REPORT)
        tests = _tests(runner, report.cases, brain)
        if tests:
            journal.collected(list(tests))
        refused = _refused(brain)
        tests = {name: _stopped(test, refused) for name, test in tests.items()}
        for name, test in tests.items():
            _settle_one(journal, brain, kept, name, test, lost=bool(there.problem or report.problems))
        passed = {name: test.case.outcome.passed for name, test in tests.items()}
        used_up = brain.budget.ended()
        whole = not stopped and not report.problems and not there.problem and used_up is None
        # Nothing tells which tests live on what is shared: it is kept where none of them went wrong.
        good = any(passed.values()) and not any(test.case.outcome.bad for test in tests.values())
        keeping.promote_shared(brain, kept, any_passed=good, interrupted=not whole, stack_lives=True)
        facts = tally.count(brain, kept, keeping.unused(brain, passed))
        # The tripwire stands in Python processes; these tests are in none.
        journal.write("calls", **{**facts, "sealed_by_hook": False})
        if settings.mode.calls_out:
            brain.budget.stop()
            budgeting.write(brain)
        settled = _code(runner, ended, report, strays=_strays(brain, tests), log=cell_dir / LOG)
        if there.problem and settled.error is None:
            settled = replace(settled, error=_error("lost", there.problem, ExitCode.NOT_PROVEN))
        if settled.code == 1 and used_up is not None and not any(test.case.outcome.bad for test in tests.values()):
            settled = replace(settled, code=0)  # all that the runner calls a failure was stopped here
        if settled.code == 0 and (facts["missed"] or (settings.strict and not tally.tidy(facts))):
            settled = replace(settled, code=int(ExitCode.RECORDINGS))
        never = faulting.never_met(brain, len(tests))
        if never is not None and settled.code == 0 and settled.error is None:
            settled = replace(settled, error=_error("fault", never.message, never.exit_code))
        if settled.code is not None and not stopped:
            journal.write("finished", exitstatus=settled.code, runner=runner.name, runner_code=ended.code)
        return settled
    finally:
        journal.close()
        brain.ledger.close()


def _tests(runner: RunnerSpec, cases: Sequence[Case], brain: Brain) -> dict[str, _Test]:
    attempts: dict[str, int] = {}
    for call in brain.ledger.read("calls")[0]:
        name = str(call.get("scope"))
        attempts[name] = max(attempts.get(name, 1), int(call.get("attempt") or 1))
    found: dict[str, _Test] = {}
    for case in cases:
        place = f"{runner.shown}/{case.classname}" if case.classname else runner.shown
        name = f"{place}::{case.name}"
        if (same := found.get(name)) is not None:
            # Two of one name share their id, and so their recordings: they passed only where both did.
            case = max(same.case, case, key=lambda each: each.outcome.severity)  # noqa: PLW2901
        found[name] = _Test(case=case, owner=Scope(name=name, test_id=name, attempt=attempts.get(name, 1)))
    return found


def _refused(brain: Brain) -> dict[str, str]:
    """Scope → why one of its calls did not go out."""
    calls = brain.ledger.read("calls")[0]
    return {str(call.get("scope")): str(call.get("reason")) for call in calls if call.get("kind") == budgeting.REFUSED}


def _stopped(test: _Test, refused: Mapping[str, str]) -> _Test:
    """A test of which a call was refused has not failed, and not passed: nobody knows what it would have done."""
    if (why := refused.get(test.owner.name)) is None:
        return test
    return replace(test, case=replace(test.case, outcome=Outcome.SKIPPED, message=why))


def _settle_one(journal: Journal, brain: Brain, kept: keeping.Kept, name: str, test: _Test, *, lost: bool) -> None:
    """Write a test down, and see to its recordings. lost: what it did is not known, so nothing of it is kept."""
    case, owner = test.case, test.owner
    brain.ledger.wait_for_serving(owner, _IN_FLIGHT)
    in_flight = brain.ledger.wait_for_calls(owner, _IN_FLIGHT) if brain.settings.mode.calls_out else 0
    brain.ledger.end(owner)
    if in_flight:
        kept.still_in_flight.append(name)
    if brain.settings.mode.records:
        for attempt in range(1, owner.attempt):
            brain.store.drop(replace(owner, attempt=attempt))
        if case.outcome.passed and not in_flight and not lost:
            afterwards.promote_tests(brain, kept, [owner])
        else:
            kept.not_promoted += brain.store.drop(owner)
    skipped = case.outcome is Outcome.SKIPPED
    journal.write(
        "test",
        nodeid=name,
        outcome=case.outcome.value,
        duration=case.seconds,
        reason=(case.message or None) if skipped else None,
        text=(case.text or case.message or None) if case.outcome.bad else None,
        attempt=owner.attempt,
        report=list(case.key),
    )


def _strays(brain: Brain, tests: Mapping[str, _Test]) -> list[str]:
    """Ids that provider calls carried and no test of the report has."""
    named = [str(call.get("scope")) for call in brain.ledger.read("calls")[0] if call.get("test_id")]
    return [
        name for name in dict.fromkeys(named) if name not in tests and name != STACK_NAME and "fixture:" not in name
    ]


def _code(runner: RunnerSpec, ended: SuiteEnd, report: junit.Report, *, strays: list[str], log: Path) -> Settled:
    how = f"{runner.name} {describe_exit(ended.code)}"
    told = last_lines(log, tail(log))
    # Without a report it was the tests that broke, unless the runner says that all is well.
    broken = ExitCode.NOT_PROVEN if ended.code == 0 else ExitCode.TESTS
    if report.problems:
        return Settled(code=None, error=_error("report", f"{how}, and {report.problems[0].text}", broken, told))
    if ended.code < 0:
        return Settled(code=None, error=_error("crash", f"{how}, although its report is there", broken, told))
    if not report.cases:
        return Settled(code=_NO_TESTS)
    code = 0 if ended.code == 0 else 1
    if strays:
        more = f", and {len(strays) - 1} more" if len(strays) > 1 else ""
        return Settled(
            code=code,
            error=_error(
                "ids",
                f"provider calls carry an id that no test of the report has: {strays[0]}{more}",
                ExitCode.NOT_PROVEN if code == 0 else ExitCode.TESTS,
                f"an id is `{runner.shown}/<class name>::<name>`, with the two names of the report",
            ),
        )
    return Settled(code=code)


def _error(kind: str, message: str, code: ExitCode, hint: str = "") -> dict[str, Any]:
    return {"kind": kind, "message": message, "hint": hint, "exit_code": int(code)}
