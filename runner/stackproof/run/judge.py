"""What a cell's exit code is, from what its processes left behind. Does no I/O: the facts are arguments."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackproof.errors import ExitCode
from stackproof.evidence import jsonfile
from stackproof.evidence.outcomes import Counts, Outcome
from stackproof.evidence.testlog import TestEntry, TestLog
from stackproof.plaintext import counted, number
from stackproof.shards.left import ShardFacts
from stackproof.shards.records import Shard
from stackproof.stack.process import describe_exit


@dataclass(frozen=True, kw_only=True, slots=True)
class CellFacts:
    """What a cell left. outcome: `outcome.json`, None when there is none. counts: from the log, else from JUnit.

    misses: lines of `misses.jsonl`. budget: `budget.json`, None where no call went out. strict: recordings that nobody
    used fail the cell, and hosts that were contacted past the recorder. runner: who ran the tests, whose exit code is
    told in pytest's numbers. shard: the part of the tests that this cell is, None for all. divided: what it says of
    itself, None where it says nothing.
    """

    outcome: Mapping[str, Any] | None
    log: TestLog
    counts: Counts
    misses: Sequence[Mapping[str, Any]] = ()
    budget: Mapping[str, Any] | None = None
    strict: bool = False
    collect_only: bool = False
    runner: str = "pytest"
    shard: Shard | None = None
    divided: ShardFacts | None = None

    @property
    def tests_log(self) -> str:
        """The file of the cell's folder in which the runner's own output is."""
        return _LOG if self.runner == "pytest" else "tests.log"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The exit code of a cell, the one sentence that goes with it, and what to do about it.

    log: the file of the cell's folder whose last lines say more.
    """

    exit_code: ExitCode
    reason: str = ""
    hint: str | None = None
    log: str | None = None


def judge(facts: CellFacts) -> Judgement:
    """Green only if pytest says so, finished, executed something, and its log agrees."""
    found = _judge(facts)
    why = jsonfile.text(facts.budget or {}, "why")
    if why is None or found.exit_code not in _ALSO_BUDGET:
        return found
    return replace(found, reason=f"{found.reason}; {why}")


# What may have come of calls that were refused, or happened besides.
_ALSO_BUDGET = (ExitCode.TESTS, ExitCode.RECORDINGS, ExitCode.STACK_START, ExitCode.NOTHING_RAN)


def _judge(facts: CellFacts) -> Judgement:
    outcome = facts.outcome
    if outcome is None:
        return Judgement(
            exit_code=ExitCode.INTERNAL,
            reason=f"the process of the cell ended without saying how{_inside(facts.log)}",
            hint="it was killed, or ran out of memory or disk space",
            log="cell.log",
        )
    if signum := jsonfile.text(outcome, "signal"):
        code = ExitCode.SIGINT if signum == signal.SIGINT.name else ExitCode.SIGTERM
        return Judgement(exit_code=code, reason=f"stopped by {signum}")
    if error := jsonfile.table(outcome, "error"):
        return _error(error, facts)
    pytest_code = outcome.get("exit_code")
    if not isinstance(pytest_code, int):
        return Judgement(exit_code=ExitCode.INTERNAL, reason=f"{facts.runner} was never run", log="cell.log")
    return (
        _died(pytest_code, facts)
        or _used_up(pytest_code, facts)
        or _as_part(pytest_code, facts)
        or _pytest(pytest_code, facts)
    )


def _as_part(code: int, facts: CellFacts) -> Judgement | None:
    """What is no failure of a shard, and would be one of a whole cell; None where it makes no difference."""
    if facts.shard is None or code not in (0, _NO_TESTS):
        return None
    part = facts.divided
    if part is None or part.shard != facts.shard:
        reason = f"the tests were not divided: nothing says which of them are shard {facts.shard}"
        hint = "is a plugin of pytest blocked (-p no:stackproof), or shard.json removed?"
        return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=reason, hint=hint, log=facts.tests_log)
    there = len(set(facts.log.collected or ()))
    if there != part.own:
        reason = f"shard {part.shard} has {part.own} of {part.tests} tests, and pytest was left with {there}"
        hint = "does a plugin or a conftest.py pick tests once they are divided? --lf in addopts does, too"
        return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=reason, hint=hint, log=facts.tests_log)
    return _nothing_to_pass(code, part, facts) if part.tests else None


def _nothing_to_pass(code: int, part: ShardFacts, facts: CellFacts) -> Judgement | None:
    """A shard without a test, or with none that could pass: whether that is enough is asked of the whole."""
    counts = facts.counts
    if code == _NO_TESTS and not part.own and not counts.total:
        reason = f"no test is left for shard {part.shard}: there are {part.tests} in all"
        return Judgement(exit_code=ExitCode.PASS, reason=reason)
    if code == 0 and 0 < counts.total == counts.skipped + counts.xfailed == part.own and not facts.misses:
        reason = f"no test of shard {part.shard} passed: {counts.words()}"
        return _untidy(facts) or Judgement(exit_code=ExitCode.PASS, reason=reason)
    return None


def _used_up(code: int, facts: CellFacts) -> Judgement | None:
    """A run that the budget ended: what did not run is not proven. A failure before that stays one."""
    told = jsonfile.text(facts.budget or {}, "why")
    if told is None or code not in (0, ExitCode.NOT_PROVEN) or facts.counts.failed or facts.counts.errors:
        return None
    return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=f"{told}; {facts.counts.words()}", hint=_more(facts))


def _more(facts: CellFacts) -> str:
    """What to do about a budget that was too small."""
    ended_by = jsonfile.text(facts.budget or {}, "ended_by") or "requests"
    given = (facts.budget or {}).get(ended_by)
    limit = given[1] if isinstance(given, list) and len(given) == 2 and isinstance(given[1], int | float) else None
    example = "" if limit is None else f" {number(limit * 2)}"
    return f"give it more, as --max-{ended_by}{example}, or take fewer tests with --file or --pattern"


# Kinds of a miss that are about the tests, not about recordings: a socket to the world, a secret in an answer.
_NO_FAULT_OF_RECORDINGS = frozenset({"network", "secret"})


def is_miss(entry: TestEntry, misses: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a test failed for want of a recording: by a miss of its own, or one whose words its failure quotes."""
    own = [miss for miss in misses if miss.get("test_id") == entry.nodeid]
    if not own:
        own = [miss for miss in misses if (first := _first_line(miss)) and first in (entry.text or "")]
    return bool(own) and not any(miss.get("kind") in _NO_FAULT_OF_RECORDINGS for miss in own)


def _first_line(miss: Mapping[str, Any]) -> str:
    return next((line.strip() for line in str(miss.get("message", "")).splitlines() if line.strip()), "")


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of a run with several cells: signals, what ends a run, then 1 before 6 before 7 before 3."""
    order = (
        ExitCode.SIGINT,
        ExitCode.SIGTERM,
        ExitCode.INTERNAL,
        ExitCode.DISK,
        ExitCode.USAGE,
        ExitCode.DOCKER,
        ExitCode.STACK_START,
        ExitCode.TESTS,
        ExitCode.RECORDINGS,
        ExitCode.NOT_PROVEN,
        ExitCode.NOTHING_RAN,
    )
    found = set(codes)
    return next((code for code in order if code in found), ExitCode.PASS)


def _error(error: Mapping[str, Any], facts: CellFacts) -> Judgement:
    number = jsonfile.number(error, "exit_code")
    code = ExitCode(number) if number in set(ExitCode) else ExitCode.INTERNAL
    also = f"; {facts.counts.words()}" if facts.counts.total else ""
    return Judgement(
        exit_code=code, reason=f"{error.get('message', 'it failed')}{also}", hint=jsonfile.text(error, "hint")
    )


def _died(code: int, facts: CellFacts) -> Judgement | None:
    """pytest that ended in another way than by finishing: a crash, `os._exit` in a test, the kernel's memory killer."""
    log = facts.log
    finished = log.exitstatus is not None if log.present else facts.counts.total > 0
    # With these it may end before its plugins are told that anything began.
    early = code in (_INTERRUPTED, _INTERNAL, _USAGE, _NO_TESTS) and not log.tests
    if finished or early or facts.collect_only:
        return None
    seen = len(log.tests)
    expected = f" of {len(log.collected)}" if log.collected is not None else ""
    last = f", the last one {log.last}" if log.last else ""
    how = f"{facts.runner} {describe_exit(code)} without finishing{_inside(log)}"
    return Judgement(
        exit_code=ExitCode.TESTS,
        reason=f"{how}: {seen}{expected} tests have a result{last}",
        hint="a test that calls os._exit, a crash in an extension, or too little memory",
        log=facts.tests_log,
    )


def _inside(log: TestLog) -> str:
    """The tests that had begun, several where workers ran them."""
    return f", inside of {', '.join(log.running)}" if log.running else ""


_LOG = "pytest.log"
_INTERRUPTED, _INTERNAL, _USAGE, _NO_TESTS = 2, 3, 4, 5

# pytest's exit codes that mean the same whatever was seen before.
_NAMED = {
    _INTERNAL: Judgement(exit_code=ExitCode.TESTS, reason="pytest met an internal error (exit code 3)", log=_LOG),
    _USAGE: Judgement(
        exit_code=ExitCode.USAGE,
        reason="pytest could not start (exit code 4): its command line, its configuration, or a conftest.py is wrong",
        log=_LOG,
    ),
    _NO_TESTS: Judgement(
        exit_code=ExitCode.NOTHING_RAN,
        reason="no test was collected (pytest exit code 5)",
        hint="check --suite, --file and --pattern: `--collect-only` lists what they select",
    ),
}


def _pytest(code: int, facts: CellFacts) -> Judgement:
    if code == _NO_TESTS and facts.runner != "pytest":
        return Judgement(
            exit_code=ExitCode.NOTHING_RAN, reason=f"the report of {facts.runner} has no test", log=facts.tests_log
        )
    if code in _NAMED:
        return _NAMED[code]
    if code == 0:
        return _green(facts)
    if code == 1:
        return _failed(facts)
    return _plugin(facts) if code == ExitCode.RECORDINGS else _interrupted(code, facts)


def _interrupted(code: int, facts: CellFacts) -> Judgement:
    if code == _INTERRUPTED and not facts.log.tests:
        return Judgement(
            exit_code=ExitCode.TESTS, reason="the tests could not be collected (pytest exit code 2)", log=_LOG
        )
    how = "was interrupted (exit code 2)" if code == _INTERRUPTED else describe_exit(code)
    return Judgement(exit_code=ExitCode.TESTS, reason=f"pytest {how}; {facts.counts.words()}")


def _plugin(facts: CellFacts) -> Judgement:
    """The plugin's own code for a session in which no test failed, and yet calls were missed or files left unused."""
    if facts.misses:
        code, reason = _swallowed(facts.misses)
        return Judgement(exit_code=code, reason=reason)
    return _untidy(facts) or _interrupted(ExitCode.RECORDINGS, facts)


def _green(facts: CellFacts) -> Judgement:
    """pytest says that all is well: everything else has to agree."""
    if facts.collect_only:
        return Judgement(exit_code=ExitCode.PASS)
    counts, log = facts.counts, facts.log
    lost = len(log.collected or ()) - counts.total
    bodies = counts.total - counts.skipped - counts.xfailed
    for wrong, code, reason in (
        (not log.present, ExitCode.NOT_PROVEN, "pytest exited with 0, and the log of its tests is missing"),
        (
            counts.failed or counts.errors,
            ExitCode.NOT_PROVEN,
            f"{facts.runner} exited with 0, yet its log has {counts.words()}",
        ),
        (not counts.total, ExitCode.NOTHING_RAN, "no test has a result"),
        (counts.total == counts.skipped, ExitCode.NOTHING_RAN, f"nothing ran: {counts.words()}"),
        (not bodies, ExitCode.NOT_PROVEN, f"no test passed: {counts.words()}"),
        (log.exitstatus, ExitCode.NOT_PROVEN, f"pytest exited with 0, yet its session ended with {log.exitstatus}"),
        (lost > 0, ExitCode.NOT_PROVEN, f"{lost} collected tests have no result"),
        (facts.misses, *_swallowed(facts.misses)),
    ):
        if wrong:
            return Judgement(exit_code=code, reason=reason)
    return _untidy(facts) or Judgement(exit_code=ExitCode.PASS)


def _swallowed(misses: Sequence[Mapping[str, Any]]) -> tuple[ExitCode, str]:
    """Misses of tests that passed: the code under test took the error for an answer."""
    if any(miss.get("kind") in _NO_FAULT_OF_RECORDINGS for miss in misses):
        return ExitCode.TESTS, "the tests passed, yet a call left what replay allows"
    return ExitCode.RECORDINGS, f"the tests passed, yet {_calls(len(misses))} had no recording"


def _failed(facts: CellFacts) -> Judgement:
    bad = [entry for entry in facts.log.tests.values() if entry.outcome in (Outcome.FAILED, Outcome.ERROR)]
    counts = facts.counts
    if not bad and not counts.failed and not counts.errors:
        return _untidy(facts) or Judgement(
            exit_code=ExitCode.TESTS,
            reason=f"{facts.runner} failed although no test did (exit code 1)",
            log=facts.tests_log,
        )
    if bad and all(is_miss(entry, facts.misses) for entry in bad):
        tests = counted(len(bad), "test")
        return Judgement(
            exit_code=ExitCode.RECORDINGS,
            reason=f"only recordings are at fault: {_calls(len(facts.misses))} in {tests} had no recording",
        )
    return Judgement(exit_code=ExitCode.TESTS, reason=counts.words())


def _untidy(facts: CellFacts) -> Judgement | None:
    """What only `--strict` fails on."""
    return (_unseen(facts) or _unused(facts)) if facts.strict else None


_HOW_TO_BE_SEEN = (
    "a provider is recorded when its URL is known to the setup (`providers`) and called through a library that the "
    "recorder knows: stackproof docs recording"
)


def _unseen(facts: CellFacts) -> Judgement | None:
    seen = (facts.log.calls or {}).get("unseen")
    contacts = [f"{item.get('host')} by {item.get('test')}" for item in seen] if isinstance(seen, list) else []
    if not contacts:
        return None
    host, _, test = contacts[0].partition(" by ")
    more = f", and {len(contacts) - 1} more like this" if len(contacts) > 1 else ""
    return Judgement(
        exit_code=ExitCode.RECORDINGS,
        reason=f"{host} was contacted by {test} and not recorded{more} (--strict)",
        hint="\n".join([*contacts[1:10], _HOW_TO_BE_SEEN]),
    )


def _unused(facts: CellFacts) -> Judgement | None:
    unused = jsonfile.number(facts.log.calls or {}, "unused")
    if not unused:
        return None
    files = jsonfile.strings(facts.log.calls or {}, "unused_files")
    told = f"{counted(unused, 'recording')} of tests that passed {'was' if unused == 1 else 'were'}"
    return Judgement(
        exit_code=ExitCode.RECORDINGS,
        reason=f"{told} not used (--strict)",
        hint="\n".join([*files[:10], "stackproof recordings prune removes what no test asks for any more"]),
    )


def _calls(number: int) -> str:
    return counted(number, "provider call")
