"""The rule for one cell: it ran, here and now, to its end, and exactly the expected tests did what was expected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from stackproof.errors import ExitCode, MissingProgramError, NoEngineError
from stackproof.evidence import sessions
from stackproof.evidence.manifest import Damage
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellError, CellFacts, Evidence
from stackproof.evidence.shards import Sharded
from stackproof.shards.left import NAME as SHARD_FILE
from stackproof.verdict.current import Current, one, short
from stackproof.verdict.expected import Expectation
from stackproof.verdict.policy import CellPolicy, Policy, Required, SourceRule
from stackproof.verdict.records import Finding, Rule, failed, not_proven, remark
from stackproof.verdict.shard_findings import shard_findings
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
_FILES = ("result.json", "junit.xml", "tests.jsonl")
# What a machine may lack: the software under test could not be blamed for it.
_MISSING = frozenset({NoEngineError.__name__, MissingProgramError.__name__})


def cell_rule(
    wanted: CellPolicy, *, policy: Policy, evidence: Evidence, current: Current, tests: Tests, twin: str | None
) -> Rule:
    """Weigh one cell. `tests` are its joined tests; `twin` names an earlier cell with the very same report file."""
    cell = evidence.cells.get(wanted.id)
    findings: list[Finding] = []
    good = ""
    if cell is None:
        findings.append(not_proven("it did not run"))
    else:
        good = _good(tests)
        findings += _error(cell.error)
        findings += _untouched(cell.places, evidence.manifest.damage)
        findings += _belongs(cell, wanted, policy, evidence, current)
        if twin is not None:
            findings.append(not_proven(f"its report is a copy of that of {twin}; it counts once"))
        findings += _session(cell, tests) if cell.shards is None else shard_findings(wanted.title, cell.shards)
        findings += [remark(note) for note in cell.report.notes]
        findings += _failures(wanted, policy, current, cell, tests)
        findings += exit_code_fits(cell, tests) if cell.shards is None else _at_fault(cell)
        findings += _executed(wanted, policy, current, cell, tests)
        findings += as_expected(wanted.id, current.expected.get(wanted.id), cell, tests)
        findings += _offline(cell)
    absent = cell is None or is_absent(cell)
    again, *more = _commands(wanted, cell)
    return Rule(
        id=f"cell:{wanted.id}",
        title=wanted.title,
        good=good,
        findings=tuple(findings),
        proves=_PROVES,
        excludes=_EXCLUDES,
        lead=_lead(wanted, policy, current, tests),
        evidence=evidence_of(wanted.id, cell, *_FILES, *(() if cell is None or cell.shards is None else (SHARD_FILE,))),
        again=again,
        more_again=tuple(more),
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


def evidence_of(name: str, cell: CellFacts | None, *files: str) -> tuple[str, ...]:
    """Files of a cell below the run folder; a pattern where it lies there in shards."""
    parts = f".*of{cell.shards.total}" if cell is not None and cell.shards is not None else ""
    return tuple(f"cells/{name}{parts}/{file}" for file in files)


def _session(cell: CellFacts, tests: Tests) -> Iterator[Finding]:
    yield from ended(cell)
    yield from (not_proven(problem.text) for problem in cell.report.problems)
    if not cell.report.cases and not cell.report.problems:
        yield not_proven("its report names no test")
    elif cell.log.present and cell.report.cases:
        yield from (not_proven(text) for text in tests.contradictions)


def _commands(wanted: CellPolicy, cell: CellFacts | None) -> tuple[str, ...]:
    if cell is not None and cell.shards is not None and cell.shards.again:
        return cell.shards.again
    return ((cell.command if cell is not None else None) or _again(wanted),)


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


def _untouched(places: Collection[str], damage: Iterable[Damage]) -> Iterator[Finding]:
    for each in damage:
        match each.path.split("/"):
            case ["cells", place, _, *_] if place in places:
                yield not_proven(damage_words(each))
            case _:
                continue


def damage_words(damage: Damage) -> str:
    """One difference between the run folder and its manifest, as a sentence."""
    file = f"{damage.path} in {damage.run}" if damage.run else damage.path
    match damage.kind.value:
        case "missing":
            return f"{file} is listed in the manifest and gone"
        case "changed":
            return f"{file} was changed after the run"
        case "unlisted":
            return f"{file} is not listed in the manifest"
        case _:
            return f"{damage.run or 'the run'} has no manifest that can be read"


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
    run = evidence.manifest.run_id
    # Where several folders are weighed, each was held against its own manifest.
    if run is not None and "+" not in run and cell.run_id != run:
        yield not_proven(f"its evidence is of run {cell.run_id}, the manifest of run {run}")
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
    yield from (not_proven(text) for text in sessions.not_ended(cell))


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
    yield from (not_proven(text) for text in sessions.unfit(cell, bad))
    yield from _at_fault(cell)


def _at_fault(cell: CellFacts) -> Iterator[Finding]:
    if cell.exit_code == ExitCode.RECORDINGS:
        yield failed("only the recordings are at fault (exit code 6)", exit_code=ExitCode.RECORDINGS)


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
        number = len(tests.facts)
        yield not_proven("its one test was skipped" if number == 1 else f"all {number} tests were skipped")
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
    collected, wanted = cell.log.collected, expectation.nodeids
    # Without a set where they are the same: a million names would be held once more.
    if len(collected) != len(wanted) or not all(nodeid in wanted for nodeid in collected):
        yield from _others(name, expectation, frozenset(collected), cell.shards)
    for fact in tests.facts.others:
        # Of a shard whose log is lost the report alone names tests, and otherwise than node ids do.
        if cell.shards is None or cell.shards.complete or fact.name in cell.log.tests:
            yield from _skip(fact, expectation)
    for test in tests.facts.passed(expectation.skips.keys() - {fact.name for fact in tests.facts.others}):
        yield remark(f"runs although its skip is expected: {test}")


def _others(
    name: str, expectation: Expectation, collected: frozenset[str], shards: Sharded | None
) -> Iterator[Finding]:
    lost = sorted(expectation.nodeids - collected)
    if lost and shards is not None and not shards.complete:
        tests = "1 expected test is" if len(lost) == 1 else f"{len(lost)} expected tests are"
        yield not_proven(f"{tests} in none of the shards that are there: {sessions.listed(lost)}")
    else:
        yield from (failed(f"{missing} is expected and was not collected") for missing in lost)
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
