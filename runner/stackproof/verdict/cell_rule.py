"""The rule for one cell: it ran, here and now, to its end, and exactly the expected tests did what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackproof.errors import ExitCode, MissingProgramError, NoEngineError
from stackproof.evidence.manifest import Damage
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellError, CellFacts, Evidence
from stackproof.verdict.current import Current, one, short
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import CellPolicy, Policy, Required, SourceRule
from stackproof.verdict.records import Finding, Rule, failed, not_proven, remark
from stackproof.verdict.tests_of import TestFact, Tests
from stackproof.verdict.waiving import waiver_for, words

_PROVES = (
    "every expected test ran against this stack to its end, with every provider call answered from a recording, "
    "and did what was expected of it"
)
_EXCLUDES = (
    "what the providers answer today, what no test asks, and timing; "
    "evidence that was rewritten together with its manifest"
)
# What a machine may lack: the software under test could not be blamed for it.
_MISSING = frozenset({NoEngineError.__name__, MissingProgramError.__name__})
_PYTEST_CODES = {
    2: "pytest was interrupted or could not collect (exit code 2)",
    3: "pytest broke internally (exit code 3)",
    4: "pytest could not start, for instance because a conftest.py does not import (exit code 4)",
    5: "pytest found no test (exit code 5)",
}


def cell_rule(
    wanted: CellPolicy, *, policy: Policy, evidence: Evidence, current: Current, tests: Tests, twin: str | None
) -> Rule:
    """Weigh one cell. `tests` are its joined tests; `twin` names an earlier cell with the very same report file."""
    cell = evidence.cells.get(wanted.id)
    folder = f"cells/{wanted.id}"
    findings: list[Finding] = []
    good = ""
    if cell is None:
        findings.append(not_proven("it did not run"))
    else:
        good = _good(tests)
        findings += _error(cell.error)
        findings += _untouched(folder, evidence.manifest.damage)
        findings += _belongs(cell, wanted, policy, evidence, current)
        if twin is not None:
            findings.append(not_proven(f"its report is a copy of that of {twin}; it counts once"))
        findings += ended(cell)
        findings += [not_proven(problem.text) for problem in cell.report.problems]
        findings += [remark(note) for note in cell.report.notes]
        if not cell.report.cases and not cell.report.problems:
            findings.append(not_proven("its report names no test"))
        elif cell.log.present and cell.report.cases:
            findings += [not_proven(text) for text in tests.contradictions]
        findings += _failures(wanted, policy, current, cell, tests)
        findings += exit_code_fits(cell, tests)
        findings += _executed(wanted, policy, current, cell, tests)
        findings += as_expected(wanted.id, current.expected.get(wanted.id), cell, tests)
        findings += _offline(cell)
    absent = cell is None or is_absent(cell)
    return Rule(
        id=f"cell:{wanted.id}",
        title=wanted.title,
        good=good,
        findings=tuple(findings),
        proves=_PROVES,
        excludes=_EXCLUDES,
        lead=_lead(wanted, policy, current, tests),
        evidence=tuple(f"{folder}/{name}" for name in ("result.json", "junit.xml", "tests.jsonl")),
        again=(cell.command if cell is not None else None) or _again(wanted),
        blocking=wanted.required is Required.ALWAYS or current.insist or not absent,
    )


def _good(tests: Tests) -> str:
    return f"{tests.facts.counts.words()}, as expected"


def _lead(wanted: CellPolicy, policy: Policy, current: Current, tests: Tests) -> str | None:
    bad = [
        fact.name
        for fact in tests.facts.others
        if fact.outcome.bad and not waiver_for(fact.name, wanted.id, policy.waivers, current.today)
    ]
    return f"{tests.facts.counts.words()}; first {bad[0]}" if bad else None


def _again(wanted: CellPolicy) -> str:
    return f"nox -s integration -- --suite {wanted.suite} --setup {wanted.setup} --stack-config {wanted.stack}"


def is_absent(cell: CellFacts) -> bool:
    """Whether this machine lacks an engine, or a Python or Node.js of some version, so that nothing of the cell ran.

    Everything else that goes wrong with a container, a build that fails say, is the stack's own.
    """
    return cell.error is not None and cell.error.kind in _MISSING and not cell.log.present and not cell.report.cases


def _error(error: CellError | None) -> Iterator[Finding]:
    if error is not None and error.kind in _MISSING:
        yield not_proven(error.message)
    elif error is not None:
        match error.exit_code:
            case ExitCode.STACK_START:
                yield failed(error.message, exit_code=ExitCode.STACK_START)
            case ExitCode.TESTS:  # the suite hung, or what had to follow it went wrong
                yield failed(error.message)
            case _:
                yield not_proven(error.message)


def _untouched(folder: str, damage: Iterable[Damage]) -> Iterator[Finding]:
    for each in damage:
        if each.path.startswith(f"{folder}/"):
            yield not_proven(damage_words(each))


def damage_words(damage: Damage) -> str:
    """One difference between the run folder and its manifest, as a sentence."""
    match damage.kind.value:
        case "missing":
            return f"{damage.path} is listed in the manifest and gone"
        case "changed":
            return f"{damage.path} was changed after the run"
        case "unlisted":
            return f"{damage.path} is not listed in the manifest"
        case _:
            return "the run has no manifest that can be read"


def _belongs(
    cell: CellFacts, wanted: CellPolicy, policy: Policy, evidence: Evidence, current: Current
) -> Iterator[Finding]:
    if not cell.result:
        yield not_proven("result.json is missing or cannot be read")
        return
    if (cell.suite, cell.setup) != (wanted.suite, wanted.setup):
        yield not_proven(f"its evidence is of suite {cell.suite} with setup {cell.setup}")
    if cell.inference_mode != "replay":
        yield not_proven(f"it ran in mode {cell.inference_mode}, not in replay")
    if cell.injected:
        yield not_proven(f"faults were injected into the answers of every test: {', '.join(cell.injected)}")
    runs = (evidence.manifest.run_id or "").split("+")  # several, where several folders are weighed
    if evidence.manifest.run_id is not None and not set((cell.run_id or "").split("+")) <= set(runs):
        yield not_proven(f"its evidence is of run {cell.run_id}, the manifest of run {evidence.manifest.run_id}")
    yield from belongs_to_source(cell.commit, cell.dirty, policy, current)
    if cell.policy != current.policy:
        yield not_proven("its evidence was made under another policy")
    if cell.suite_digest != current.suites.get(wanted.id):
        yield not_proven("the suite's files have changed since")
    if cell.recordings_digest != current.recordings.get(wanted.id):
        yield not_proven("the recordings have changed since")


def belongs_to_source(commit: str | None, dirty: bool, policy: Policy, current: Current) -> Iterator[Finding]:
    """Whether evidence is of this commit, and of nothing but this commit where the policy says so."""
    if commit != current.commit:
        yield not_proven(f"its evidence is of {one(commit)}, this is {short(current.commit)}")
    elif dirty and policy.source is SourceRule.COMMITTED:
        yield not_proven("its evidence was made with changes that are not committed")


def ended(cell: CellFacts) -> Iterator[Finding]:
    """Whether a session of tests went to its end, and says so in its log."""
    if cell.signal is not None:
        yield not_proven(f"the run was ended by {cell.signal}")
    if cell.exit_code is None:
        yield not_proven(f"{cell.runner} did not end by itself")
    if not cell.log.present:
        yield not_proven("tests.jsonl is missing")
        return
    if cell.log.damaged:
        yield not_proven(
            f"tests.jsonl holds {cell.log.damaged} lines that are no events, from line {cell.log.damaged_at} on"
        )
    if cell.log.exitstatus is None:
        seen, inside = len(cell.log.tests), f"; it ended inside of {_list(cell.log.running)}"
        of = "" if cell.log.collected is None else f" of {len(cell.log.collected)}"
        ended_in = inside if cell.log.running else ""
        yield not_proven(f"the test session never finished: {seen}{of} tests have a result{ended_in}")
    elif cell.exit_code is not None and cell.log.exitstatus != cell.exit_code:
        yield not_proven(f"{cell.runner} ended with {cell.exit_code}, its session with {cell.log.exitstatus}")
    if cell.log.collected is None:
        yield not_proven(f"{cell.runner} never said which tests it collected")
        return
    collected, told = frozenset(cell.log.collected), cell.log.tests.keys()
    if told == collected:
        return
    if without := sorted(collected - told):
        yield not_proven(f"{len(without)} collected tests have no outcome: {_list(without)}")
    if beside := sorted(told - collected):
        yield not_proven(f"{len(beside)} tests have an outcome and were not collected: {_list(beside)}")


def _failures(wanted: CellPolicy, policy: Policy, current: Current, cell: CellFacts, tests: Tests) -> Iterator[Finding]:
    for fact in tests.facts.others:
        if fact.outcome.bad:
            waiver = waiver_for(fact.name, wanted.id, policy.waivers, current.today)
            if waiver is None:
                code = ExitCode.RECORDINGS if fact.name in cell.misses.tests else ExitCode.TESTS
                yield failed(f"{fact.name} {verb(fact)}{because(fact)}", exit_code=code)
            else:
                yield remark(f"waived: {fact.name}: {words(waiver)}")


def exit_code_fits(cell: CellFacts, tests: Tests) -> Iterator[Finding]:
    """Whether the exit code of a session says what its tests say."""
    bad = [fact.name for fact in tests.facts.others if fact.outcome.bad]
    match cell.exit_code:
        case None:
            return
        case 0 if bad:
            yield not_proven(f"{cell.runner} ended with exit code 0, and {len(bad)} tests failed: {_list(bad)}")
        case 1 if not bad:
            yield not_proven(f"{cell.runner} ended with exit code 1, and no test in the report failed")
        case 0 | 1:
            return
        case ExitCode.RECORDINGS:
            yield failed("only the recordings are at fault (exit code 6)", exit_code=ExitCode.RECORDINGS)
        case code:
            words = _PYTEST_CODES.get(code, f"pytest ended with exit code {code}")
            yield not_proven(words.replace("pytest", cell.runner, 1))


def _executed(wanted: CellPolicy, policy: Policy, current: Current, cell: CellFacts, tests: Tests) -> Iterator[Finding]:
    if not tests.facts:
        yield not_proven("no test ran")
        return
    executed = len(tests.facts) > len(tests.facts.others) or any(
        fact.outcome.executed
        and fact.outcome is not Outcome.XFAILED  # that nothing works, as expected, is no proof that anything does
        and not (fact.outcome.bad and waiver_for(fact.name, wanted.id, policy.waivers, current.today))
        for fact in tests.facts.others
    )
    if tests.facts.counts.skipped == len(tests.facts):
        yield not_proven(f"all {len(tests.facts)} tests were skipped")
    elif not executed:
        yield not_proven("no test passed: every one was skipped, is waived, or failed as expected")
    if cell.log.present and not cell.log.tests:
        yield not_proven("the log names no test")


def as_expected(name: str, expectation: Expectation | None, cell: CellFacts, tests: Tests) -> Iterator[Finding]:
    """Whether exactly the tests of `ci/expected/<name>.json` ran, and were skipped, as it says."""
    if expectation is None:
        yield not_proven(f"ci/expected/{name}.json does not say which tests must run (stackproof policy update)")
        return
    if cell.log.collected is None:
        return
    collected = frozenset(cell.log.collected)
    if collected != expectation.nodeids:
        yield from _others(name, expectation, collected)
    for fact in tests.facts.others:
        yield from _skip(fact, expectation)
    for test in tests.facts.passed(expectation.skips.keys() - {fact.name for fact in tests.facts.others}):
        yield remark(f"runs although its skip is expected: {test}")


def _others(name: str, expectation: Expectation, collected: frozenset[str]) -> Iterator[Finding]:
    for missing in sorted(expectation.nodeids - collected):
        yield failed(f"{missing} is expected and was not collected")
    for unexpected in sorted(collected - expectation.nodeids):
        yield failed(f"{unexpected} is not in ci/expected/{name}.json (stackproof policy update)")


def _skip(fact: TestFact, expectation: Expectation) -> Iterator[Finding]:
    expected = expectation.skips.get(fact.name)
    match fact.outcome:
        case Outcome.SKIPPED if expected is None:
            yield failed(f"{fact.name} is skipped and was not before{because(fact)}")
        case Outcome.SKIPPED if expected != (fact.reason or ""):
            yield failed(f"{fact.name} is skipped for another reason{because(fact)}; expected: {expected}")
        case Outcome.SKIPPED:
            yield remark(f"skipped as expected: {fact.name}{because(fact)}")
        case Outcome.XFAILED if fact.name not in expectation.xfails:
            yield failed(f"{fact.name} is newly marked as an expected failure{because(fact)}")
        case Outcome.XPASSED:
            yield remark(f"passes although it is marked as an expected failure: {fact.name}")
        case Outcome.PASSED | Outcome.FLAKY if expected is not None:
            yield remark(f"runs although its skip is expected: {fact.name}")
        case _:
            return


def _offline(cell: CellFacts) -> Iterator[Finding]:
    for text in cell.misses.network:
        yield failed(text)
    for kind, words_ in (
        ("recorded", "provider calls were recorded"),
        ("live", "provider calls went out live"),
        ("refused", "answers were refused"),
    ):
        number = (cell.log.calls or {}).get(kind, 0)
        if number:
            yield failed(f"{number} {words_} in replay")


def verb(fact: TestFact) -> str:
    """What a bad test did."""
    return "failed" if fact.outcome is Outcome.FAILED else "ended with an error"


def because(fact: TestFact) -> str:
    """`: why`, from what a test said first; nothing where it said nothing."""
    said = (fact.text if fact.outcome.bad else fact.reason) or fact.reason or ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # pytest puts the sentence that matters behind an E.
    line = next((line[1:].strip() for line in lines if line.startswith("E ")), lines[0] if lines else "")
    return f": {line[:200]}" if line else ""


def _list(names: Iterable[str], shown: int = 3) -> str:
    listed = list(names)
    more = f", and {len(listed) - shown} more" if len(listed) > shown else ""
    return ", ".join(listed[:shown]) + more
