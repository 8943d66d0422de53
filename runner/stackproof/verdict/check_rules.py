"""The rules for the checks beside the cells: types, benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackproof.evidence.benchmark import BenchmarkFacts
from stackproof.evidence.manifest import Damage
from stackproof.evidence.typecheck import TypecheckFacts, TypecheckState
from stackproof.verdict import accepted
from stackproof.verdict.accepted import beyond, counted
from stackproof.verdict.cell_rule import belongs_to_source, damage_words
from stackproof.verdict.current import Current
from stackproof.verdict.policy import BenchmarkPolicy, Policy, TypecheckPolicy
from stackproof.verdict.records import Finding, Rule, failed, not_proven, remark

TYPECHECK = "checks/typecheck.json"
BENCHMARK = "checks/benchmark.json"


def types_rule(
    wanted: TypecheckPolicy, facts: TypecheckFacts | None, policy: Policy, current: Current, damage: Iterable[Damage]
) -> Rule:
    """No type error in the files that must be checked."""
    findings = list(_damaged(TYPECHECK, damage))
    good = ""
    if facts is None:
        findings.append(not_proven("mypy has not run"))
    else:
        borne = len(facts.errors) - len(beyond(facts.errors, current.accepted_types))
        good = f"no {'other ' if borne else ''}error in {_number(len(facts.files), 'file')}"
        good += f"; {borne} accepted" if borne else ""
        findings += belongs_to_source(facts.commit, facts.dirty, policy, current)
        findings += _policy(facts.policy, current)
        findings += _types(facts, current)
        findings += _files(wanted, facts)
    return Rule(
        id="types",
        title="types",
        good=good,
        findings=tuple(findings),
        proves="mypy, with the project's own configuration, finds no error in the files that it names",
        excludes="what is typed Any or ignored on purpose, files outside the listed paths, behaviour at run time"
        + (f", and what {accepted.FILE.as_posix()} accepts" if current.accepted_types else ""),
        evidence=(TYPECHECK,),
        lead=_lead(facts, current),
        again=f"nox -s typecheck -- {' '.join(wanted.paths)}",
    )


def _lead(facts: TypecheckFacts | None, current: Current) -> str | None:
    errors = beyond(facts.errors, current.accepted_types) if facts is not None else ()
    if facts is None or not errors:
        return None
    first, files = errors[0], _number(len(facts.files), "file")
    return f"{_number(len(errors), 'error')} in {files}; first {first.file}:{first.line}"


def _types(facts: TypecheckFacts, current: Current) -> Iterator[Finding]:
    if facts.state is TypecheckState.TOOL_FAILURE:
        yield not_proven(facts.reason or "mypy broke")
    elif not facts.files:
        yield not_proven("mypy checked no file")
    for error in beyond(facts.errors, current.accepted_types):
        yield failed(f"{error.file}:{error.line}: {error.message}")
    there = counted(facts.errors)
    for kind, count in current.accepted_types.items():
        found = min(count, there.get(kind, 0))
        if found:
            yield remark(f"accepted, {found} of {count}: {kind.file}: {kind.message}")
        if found < count:
            yield remark(
                f"accepted and gone, {count - found} times (stackproof policy update): {kind.file}: {kind.message}"
            )


def _files(wanted: TypecheckPolicy, facts: TypecheckFacts) -> Iterator[Finding]:
    number = len(facts.files)
    told = f"{number} file was" if number == 1 else f"{number} files were"
    if set(facts.roots) != set(wanted.paths):
        yield not_proven(f"mypy was given {', '.join(facts.roots) or 'no path'}, not {', '.join(wanted.paths)}")
    if wanted.exactly is not None and number != wanted.exactly:
        yield not_proven(f"{told} checked, the policy says {wanted.exactly}")
    if wanted.at_least is not None and number < wanted.at_least:
        yield not_proven(f"{told} checked, the policy says at least {wanted.at_least}")
    if wanted.every_file and facts.unchecked:
        more = f" and {len(facts.unchecked) - 3} more" if len(facts.unchecked) > 3 else ""
        yield not_proven(f"not checked: {', '.join(facts.unchecked[:3])}{more}")


def benchmark_rule(
    wanted: BenchmarkPolicy, facts: BenchmarkFacts | None, policy: Policy, current: Current, damage: Iterable[Damage]
) -> Rule:
    """The lower end of the ratio's 95 % interval is not above the gate."""
    findings = list(_damaged(BENCHMARK, damage))
    line = facts.lines.get(wanted.name) if facts is not None else None
    ratio = line.ratio if line is not None else None
    good = ""
    if facts is None:
        findings.append(not_proven("the benchmark has not run"))
    elif line is None or ratio is None or ratio.low is None or ratio.high is None:
        findings.append(not_proven(f"incomplete: {facts.problem or 'nothing was measured'}"))
    else:
        measured = f"{ratio.estimate:.2f} × floor"
        good = f"{measured} (gate {wanted.gate:.2f}); {line.words()}, this machine"
        findings += belongs_to_source(facts.commit, facts.dirty, policy, current)
        findings += _policy(facts.policy, current)
        if line.samples < wanted.samples:
            findings.append(not_proven(f"incomplete: {line.samples} samples, the policy wants {wanted.samples}"))
        interval = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
        if ratio.low > wanted.gate:
            findings.append(failed(f"{measured}, {interval}, is above the gate {wanted.gate:.2f}; {line.words()}"))
        elif ratio.estimate > wanted.gate:
            findings.append(remark(f"{measured} is above the gate, but {interval} is not"))
        findings.append(remark(f"measured {facts.date} on {facts.machine.words()}; {interval}"))
    return Rule(
        id=f"benchmark:{wanted.name}",
        title=f"benchmark {wanted.name}",
        good=good,
        findings=tuple(findings),
        proves=f"on the machine that measured, a turn costs no more than {wanted.gate:.2f} times its floor",
        excludes="any absolute time, other machines, load, and what a provider takes",
        evidence=(BENCHMARK,),
        again="nox -s benchmark",
    )


def _number(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _policy(policy: str | None, current: Current) -> Iterator[Finding]:
    if policy != current.policy:
        yield not_proven("its evidence was made under another policy")


def _damaged(name: str, damage: Iterable[Damage]) -> Iterator[Finding]:
    for each in damage:
        if each.path == name:
            yield not_proven(damage_words(each))
