"""The rules over a whole run: its evidence, its source, its recordings, its seal, its flaky tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import PurePosixPath

from stackproof.errors import ExitCode
from stackproof.evidence.manifest import DamageKind
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellFacts, Evidence
from stackproof.evidence.recordings import RecordingFacts
from stackproof.plaintext import counted
from stackproof.verdict.cell_rule import damage_words, evidence_of
from stackproof.verdict.current import Current, one, short
from stackproof.verdict.policy import Policy, RecordingsPolicy, SealedRule, SourceRule
from stackproof.verdict.recordings_limits import stale, unnormalised
from stackproof.verdict.records import Finding, Rule, failed, not_proven, remark
from stackproof.verdict.tests_of import Tests

AGAIN = "nox -s verify_release"
_NAMED = 3


def source_rule(policy: Policy, evidence: Evidence, current: Current) -> Rule:
    """What was weighed is one commit, and the evidence was made of it."""
    findings: list[Finding] = []
    say = not_proven if policy.source is SourceRule.COMMITTED else remark
    if current.commit is None:
        findings.append(say("there is no Git commit that the evidence could belong to"))
    if current.dirty:
        findings.append(say(f"there are changes that are not committed{_named(current.changes)}"))
    manifest = evidence.manifest
    if manifest.run_id is not None:
        if manifest.commit != current.commit:
            findings.append(not_proven(f"the run is of {one(manifest.commit)}, this is {short(current.commit)}"))
        if manifest.dirty and not current.dirty:
            findings.append(say("the run was made with changes that were not committed"))
        if manifest.policy != current.policy:
            findings.append(not_proven("the run was made under another policy"))
    if current.policy_changes:
        findings.append(remark(f"the policy differs from {current.base}: {', '.join(current.policy_changes)}"))
    elif current.base is not None and current.policy_changes is None:
        findings.append(remark(f"whether the policy differs from {current.base} is not known"))
    return Rule(
        id="source",
        title="source",
        good=f"commit {short(current.commit)}",
        findings=tuple(findings),
        proves="everything was made of this commit, under the policy that lies beside it",
        excludes="who wrote the commit, and whether its policy asks for enough",
        evidence=("manifest.json",),
        again=AGAIN,
    )


def _named(changes: tuple[str, ...]) -> str:
    """The first of them, and how many there are beside these."""
    more = len(changes) - _NAMED
    named = ", ".join(changes[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f": {named}" if named else ""


def evidence_rule(wanted: Iterable[str], evidence: Evidence) -> Rule:
    """Nothing that the run wrote is missing or altered."""
    manifest = evidence.manifest
    findings = [not_proven(damage_words(damage)) for damage in manifest.damage]
    findings += [not_proven(text) for text in evidence.contradictions]
    findings += [remark(text) for text in evidence.notes]
    extra = sorted(set(evidence.cells) - set(wanted))
    if extra:
        findings.append(remark(f"cells that the policy does not ask for were not weighed: {', '.join(extra)}"))
    if not manifest.files and not any(damage.kind is DamageKind.NO_MANIFEST for damage in manifest.damage):
        findings.append(not_proven("the manifest lists no file"))
    return Rule(
        id="evidence",
        title="evidence",
        good=f"{counted(len(manifest.files), 'file')}, as the manifest lists them",
        findings=tuple(findings),
        proves="every file that the run listed is there, unchanged, and none was added",
        excludes="that files and manifest were not rewritten together: the manifest is not signed",
        evidence=("manifest.json",),
        again=AGAIN,
    )


def recordings_rule(limits: RecordingsPolicy, cells: Mapping[str, CellFacts], evidence: Evidence, today: date) -> Rule:
    """The recordings are whole, are the ones that the tests need, and are as the policy wants them."""
    findings = [
        not_proven(f"{cell.id} does not say what it did with its recordings")
        for cell in cells.values()
        if cell.log.calls is None
    ]
    for kind, limit in (
        ("missed", limits.missed),
        ("unused", limits.unused),
        ("late", limits.late),
        ("not_promoted", limits.not_promoted),
    ):
        findings += _beyond(kind, limit, cells.values())
    facts = evidence.recordings
    damaged = _damaged(cells.values(), facts)
    if len(damaged) > limits.damaged:
        findings += [failed(f"damaged: {text}", exit_code=ExitCode.RECORDINGS) for text in damaged]
    findings += [failed(f"a secret: {text}") for text in (facts.secrets if facts else ())]
    if facts is None:
        findings.append(not_proven("the recordings were not looked at"))
    else:
        findings += [*unnormalised(limits.unnormalised, facts), *stale(limits.max_age_days, facts, today)]
    if not cells:
        findings.append(not_proven("no cell used them"))
    replayed = sum(_number(cell, "replayed") for cell in cells.values())
    unused = sum(_number(cell, "unused") for cell in cells.values())
    used = f"{counted(facts.files, 'file')}, " if facts else ""
    used += f"{counted(replayed, 'call')} replayed"
    return Rule(
        id="recordings",
        title="recordings",
        good=f"{used}, 0 missed, {unused} unused, {len(damaged)} damaged, 0 secrets",
        findings=tuple(findings),
        proves="each provider call of the tests has its recording, and each recording of a passing test was asked for",
        excludes="that providers still answer so; files of tests that were not run; secrets without a known shape",
        evidence=("checks/recordings.json", *_files(cells, "tests.jsonl")),
        again=AGAIN,
    )


def _damaged(cells: Iterable[CellFacts], facts: RecordingFacts | None) -> list[str]:
    """Every damaged file once: those that were found, and those that only a cell came across."""
    found = list(facts.damaged) if facts is not None else []
    for text in sorted({text for cell in cells for text in cell.misses.damaged}):
        name = PurePosixPath(text.partition(" ")[0]).name
        if not any(name in known for known in found):
            found.append(text)
    return found


def _beyond(kind: str, limit: int | None, cells: Iterable[CellFacts]) -> Iterator[Finding]:
    by_cell = [(cell, number) for cell in cells if (number := _number(cell, kind))]
    if limit is not None and sum(number for _, number in by_cell) > limit:
        for cell, number in by_cell:
            files = (cell.log.calls or {}).get("unused_files") if kind == "unused" else None
            named = f": {', '.join(_end(str(file)) for file in files[:3])}" if isinstance(files, list) and files else ""
            words, remedy = kind.replace("_", " "), " (stackproof recordings prune)" if kind == "unused" else ""
            yield failed(f"{number} {words} in {cell.id}{named}{remedy}", exit_code=ExitCode.RECORDINGS)


def _end(path: str) -> str:
    """The last parts of a path: what is in front of them is this machine's."""
    return "/".join(PurePosixPath(path).parts[-3:])


def _number(cell: CellFacts, kind: str) -> int:
    value = (cell.log.calls or {}).get(kind, 0)
    return value if isinstance(value, int) and value > 0 else 0


def sealed_rule(wanted: SealedRule, cells: Mapping[str, CellFacts]) -> Rule:
    """No packet left the machine."""
    say = not_proven if wanted is SealedRule.NAMESPACE else remark
    findings: list[Finding] = []
    for cell in cells.values():
        match cell.sealed:
            case "namespace":
                continue
            case "tripwire":
                findings.append(
                    say(f"{cell.id} had the tripwire alone, which does not see child processes and C extensions")
                )
            case _:
                findings.append(say(f"nothing kept {cell.id} off the network"))
    if not cells:
        findings.append(not_proven("no cell ran"))
    everywhere = "network namespace in every cell"
    proven = len(cells) - len(findings)
    return Rule(
        id="sealed",
        title="sealed",
        good=everywhere if not findings else f"network namespace in {proven} of {len(cells)} cells",
        findings=tuple(findings),
        proves="where the namespace was in force, the kernel let no packet out of the machine",
        excludes="cells that had the tripwire alone",
        evidence=_files(cells, "outcome.json"),
        again=AGAIN,
    )


def flaky_rule(policy: Policy, tests: Mapping[str, Tests], of_claims: Tests) -> Rule:
    """Tests that passed only when they ran again. tests: by cell. of_claims: those that serve claims."""
    suites = {cell.id: cell.suite for cell in policy.cells}
    budgets = {"": policy.flaky.allowed, **policy.flaky.suites}
    wavered: dict[str, list[str]] = {budget: [] for budget in budgets}
    for cell, found in {**tests, "claims": of_claims}.items():
        budget = suites.get(cell, "")
        for fact in found.facts.others:
            if fact.outcome is Outcome.FLAKY:
                wavered[budget if budget in budgets else ""].append(f"{fact.name} in {cell}")
    findings = [
        failed(_wavered(budget, texts, budgets[budget]))
        for budget, texts in wavered.items()
        if len(texts) > budgets[budget]
    ]
    return Rule(
        id="flaky",
        title="flaky",
        good="; ".join(_wavered(budget, texts, budgets[budget]) for budget, texts in wavered.items()),
        findings=tuple(findings or (remark(text) for texts in wavered.values() for text in texts)),
        proves="how many tests passed only when they ran again",
        excludes="tests that would waver in another run",
        evidence=(
            *(f"cells/{name}/tests.jsonl" for name in tests),
            *(("checks/claims/tests.jsonl",) if of_claims.facts else ()),
        ),
        again=AGAIN,
    )


def _files(cells: Mapping[str, CellFacts], file: str) -> tuple[str, ...]:
    """That file of each cell."""
    return tuple(each for name, cell in cells.items() for each in evidence_of(name, cell, file))


def _wavered(suite: str, texts: Sequence[str], allowed: int) -> str:
    where = f"suite {suite}: " if suite else ""
    return f"{where}{len(texts)} of {allowed} allowed" + (f": {', '.join(texts)}" if texts else "")
