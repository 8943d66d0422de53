"""Runs the tests that serve claims in a process of their own, and keeps what they observed as evidence.

Whatever becomes of that process, a test that hangs, a crash, a kill: what was observed until then is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from stackproof import console
from stackproof.errors import ExitCode
from stackproof.evidence import claims, digests, git, jsonfile, machine
from stackproof.evidence.claims import ClaimFacts
from stackproof.faults import claim_environment, claim_file
from stackproof.option_values import truthy
from stackproof.options import RunOptions
from stackproof.plaintext import number
from stackproof.plugin import claim_log
from stackproof.run import suite
from stackproof.run.interrupts import Interrupts
from stackproof.run.rundir import new_run_dir
from stackproof.stack.process import describe_exit, tail
from stackproof.verdict import policy
from stackproof.verdict.claims_rule import each_claim
from stackproof.verdict.policy import ClaimsPolicy
from stackproof.verdict.records import Rule, State, worst
from stackproof.verdict.terminal import mark

_PLUGIN = "stackproof.plugin.claim_log"
_SIGNALS = {"SIGINT": ExitCode.SIGINT, "SIGTERM": ExitCode.SIGTERM}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What became of the claims that were asked for. ending: how the session ended, nothing where as one of tests does.

    evidence: the folder of it, relative to the project.
    """

    run_dir: Path
    evidence: str
    rules: tuple[Rule, ...]
    ending: tuple[str, ...]
    exit_code: ExitCode

    @property
    def held(self) -> int:
        """How many hold."""
        return _held(self.rules)


def run(project: Path, names: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Run the tests of these claims, of all when none is named, print a line for each, and return the exit code.

    As `carry_out`.
    """
    ran = carry_out(project, names, environ=environ)
    for text in [*lines(ran.rules), *ran.ending]:
        console.told(text)
    console.out(f"Evidence {ran.evidence}")
    return ran.exit_code


def carry_out(project: Path, names: Sequence[str], *, environ: Mapping[str, str]) -> Ran:
    """Run the tests of these claims, of all when none is named, and say what became of each; nothing is printed.

    exit_code: 0 when all hold, 1 when one does not, 7 when one is not proven, 130 and 143 after a signal. UsageError
    without a policy that names a claims file, and for a claim that is not in it.
    """
    wanted = policy.claims_of(project)
    for name in names:
        claim_file.named(wanted.claims, name, file=wanted.file)
    run_dir = new_run_dir(project)
    with Interrupts() as interrupts:
        facts = check(project, wanted, run_dir, environ=environ, interrupts=interrupts, only=names)
    rules = [rule for rule in _rules(wanted, facts, environ) if not names or rule.id.removeprefix("claim:") in names]
    return Ran(
        run_dir=run_dir,
        evidence=f"{run_dir.relative_to(project.absolute()).as_posix()}/{claims.FOLDER.as_posix()}",
        rules=tuple(rules),
        ending=tuple(_ending(facts, run_dir)),
        exit_code=_exit_code(rules, facts),
    )


def _exit_code(rules: Sequence[Rule], facts: ClaimFacts) -> ExitCode:
    if facts.signal is not None:
        return _SIGNALS[facts.signal]
    match worst(rule.counted for rule in rules):
        case State.FAIL:
            return ExitCode.TESTS
        case State.NOT_PROVEN:
            return ExitCode.NOT_PROVEN
        case State.PASS:
            return ExitCode.PASS


def check(
    project: Path,
    wanted: ClaimsPolicy,
    run_dir: Path,
    *,
    environ: Mapping[str, str],
    interrupts: Interrupts,
    only: Sequence[str] = (),
) -> ClaimFacts:
    """Run pytest over `wanted.tests`, write `checks/claims.json` and what lies beside it, and return the facts in them.

    only: names of claims; tests that serve another are left out, and so are those that serve none.
    """
    folder = run_dir.absolute() / claims.FOLDER
    folder.mkdir(parents=True)
    started = datetime.now(UTC)
    process = suite.process(
        _command(project, wanted, folder, only), environment=environ, project=project, log=folder / claims.LOG
    )
    end = suite.run(process, timeout=wanted.timeout, interrupts=interrupts)
    source = git.state(project)
    words = {word for each in wanted.claims.values() for word in each.environment}
    jsonfile.write(
        run_dir / claims.RESULT,
        {
            "schema": claims.SCHEMA,
            "kind": "claims",
            "commit": source.commit,
            "dirty": source.dirty,
            "digests": {
                "policy": digests.policy(project),
                "claims": digests.file(project / wanted.file),
                "tests": digests.suite(project, wanted.tests),
            },
            "exit_code": end.code if end.code >= 0 else None,
            "signal": None if interrupts.first is None else interrupts.first.name,
            "problem": _problem(end, wanted.timeout),
            "lacks": sorted(claim_environment.lacking(sorted(words))),
            "only": list(only) or None,
            "environment": asdict(machine.fingerprint()),
            "started": started.isoformat(timespec="milliseconds"),
            "stopped": datetime.now(UTC).isoformat(timespec="milliseconds"),
        },
    )
    facts = claims.read(run_dir)
    assert facts is not None  # noqa: S101 - it was written just now
    return facts


def summary(wanted: ClaimsPolicy, facts: ClaimFacts, environ: Mapping[str, str]) -> list[str]:
    """What a person sees after the check: a line for what does not hold or is not proven, and how many hold."""
    return list(lines(_rules(wanted, facts, environ)))


def lines(rules: Sequence[Rule]) -> Iterator[str]:
    """The claims that do not hold with all that was found, and the number of those that do."""
    for rule in rules:
        if rule.state is not State.PASS:
            yield f"{mark(rule)} {rule.title}  {rule.summary}"
            bad = [finding for finding in rule.findings if finding.state is not State.PASS]
            yield from (f"    {finding.text}" for finding in bad if finding.text not in rule.summary)
            if not rule.blocking:
                yield "    said, and not counted here"
    held = _held(rules)
    yield f"{'✓' if held == len(rules) else '–'} claims  {held} of {len(rules)} hold"


def _held(rules: Sequence[Rule]) -> int:
    return sum(rule.state is State.PASS for rule in rules)


def _ending(facts: ClaimFacts, run_dir: Path) -> Iterator[str]:
    """How the session ended, where it did not end as one of tests does."""
    if facts.problem is not None:
        yield f"? {facts.problem}"
    elif facts.exit_code not in (0, 1):
        ended = f"ended by {facts.signal}" if facts.signal else f"pytest ended with exit code {facts.exit_code}"
        yield f"? {ended}"
    else:
        return
    yield from (f"    {text}" for text in tail(run_dir / claims.FOLDER / claims.LOG, 5))


def _rules(wanted: ClaimsPolicy, facts: ClaimFacts, environ: Mapping[str, str]) -> tuple[Rule, ...]:
    return each_claim(wanted, facts, insist=truthy(environ.get("CI")))


def _command(project: Path, wanted: ClaimsPolicy, folder: Path, only: Sequence[str]) -> list[str]:
    options = [
        *("-p", _PLUGIN),
        *(claim_log.FILE_OPTION, str(project.absolute() / wanted.file)),
        *(claim_log.FOLDER_OPTION, str(folder)),
        *(word for name in only for word in (claim_log.ONLY_OPTION, name)),
    ]
    return suite.arguments(RunOptions(pytest_args=tuple(options)), wanted.tests, project=project, cell_dir=folder)


def _problem(end: suite.SuiteEnd, timeout: float) -> str | None:
    if end.timed_out:
        return f"the tests did not end within {number(timeout)} s"
    return f"pytest {describe_exit(end.code)}" if end.code < 0 else None
