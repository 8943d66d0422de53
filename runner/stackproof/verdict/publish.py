"""Writes a verdict beside its evidence, in every form, and tells it to the CI system that asks."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from stackproof.evidence import digests, jsonfile, merge, rescued
from stackproof.evidence.gather import gather
from stackproof.evidence.junit import Case
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import Evidence
from stackproof.recorder import redact
from stackproof.verdict import compared, concealing, ctrf, github, intoto, markdown, render, summary
from stackproof.verdict.compared import Compared
from stackproof.verdict.expected import CLAIMS
from stackproof.verdict.policy import Policy
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.test_rows import Failure, TestRow, failures, misses_of, rows

SUITE = "release verdict"
PAGE = "verdict.html"


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """What all outputs are made from, with no secret in verdict, rows and failures.

    rows: every test of every cell. project: where the policy lies. environ: the caller's; it says which CI system this
    is. secrets: values by the name of their variable. gates: of the policy's benchmarks. compared: with the run before,
    None where there is none; what it names may hold secrets.
    """

    run_dir: Path
    verdict: Verdict
    evidence: Evidence
    rows: tuple[TestRow, ...]
    failures: tuple[Failure, ...]
    project: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    gates: Mapping[str, float] = field(default_factory=dict)
    compared: Compared | None = None


def write(
    run_dir: Path,
    verdict: Verdict,
    *,
    project: Path | None = None,
    environ: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    found: Evidence | None = None,
) -> Publication:
    """Write `verdict.json`, `verdict.md`, `verdict.html`, `junit.xml`, `ctrf/report.json` and the in-toto statements.

    The merged report has the rules as a suite of their own. Statements need a commit that nothing was changed of; where
    there is none, those of an earlier verdict over this run are taken away. found: the evidence, where it is that of
    several run folders (`elsewhere.write`).
    """
    from stackproof.verdict.page import page  # noqa: PLC0415 - jinja2 is for this alone

    hidden = secrets or {}
    waivers = policy.waivers if policy is not None else ()
    found = gather([run_dir]) if found is None else found
    tests = concealing.conceal_rows(rows(found, waivers, _day(verdict)), hidden)
    missed = redact.conceal(misses_of(run_dir, found), hidden)
    results, earlier = compared.results_of(found, verdict), compared.newest_before(run_dir)
    changes = None if earlier is None else compared.compare(results, compared.read(earlier))
    published = Publication(
        run_dir=run_dir,
        verdict=concealing.conceal_verdict(verdict, hidden),
        evidence=found,
        rows=tests,
        failures=tuple(failures(tests, missed)),
        project=project,
        environ=environ or {},
        secrets=hidden,
        gates={each.name: each.gate for each in policy.benchmarks} if policy is not None else {},
        compared=changes,
    )
    sections = {compared.SECTION: compared.to_json(results), "compared": None}
    if changes is not None:
        sections["compared"] = compared.as_json(changes)
    shown: dict[str, Any] = redact.conceal(sections, hidden)
    jsonfile.write(run_dir / compared.FILE, {**render.to_json(published.verdict), **shown})
    jsonfile.write_text(run_dir / "verdict.md", markdown.to_markdown(published.verdict))
    reports = {
        name: concealing.conceal_report(rescued.report_of(cell.report, cell.log), hidden)
        for name, cell in found.cells.items()
    }
    if found.claims is not None:
        reports[CLAIMS] = concealing.conceal_report(found.claims.report, hidden)
    own = {SUITE: [_case(rule) for rule in published.verdict.rules]}
    # Case by case from the files, outputs too: together they may be larger than the memory.
    conceal = functools.partial(concealing.conceal_cases, secrets=hidden)
    merge.write(run_dir / "junit.xml", reports, own, change=conceal)
    for name, content in _documents(published).items():
        if content is None:
            (run_dir / name).unlink(missing_ok=True)
        else:
            # On one line: indented, that of twenty thousand tests takes seconds.
            jsonfile.write_text(run_dir / name, json.dumps(content, sort_keys=True, ensure_ascii=False) + "\n")
    jsonfile.write_text(run_dir / PAGE, page.render(published))
    return published


def summarise(verdict: Verdict, environ: Mapping[str, str]) -> bool:
    """Append the Markdown to the file that GITHUB_STEP_SUMMARY names; whether there is one that can be written.

    What other steps of the same job wrote there counts towards the size that GitHub accepts.
    """
    return summary.append(environ, lambda room: markdown.to_markdown(verdict, limit=room))


def annotated(published: Publication) -> list[str]:
    """The lines that put the most useful findings beside the changed code; none where no GitHub runner reads them."""
    if not github.is_wanted(published.environ):
        return []
    types = published.evidence.typecheck
    errors = types.errors if types is not None else ()
    return [each.command() for each in github.notes(published.verdict, published.failures, errors)]


def _documents(published: Publication) -> dict[str, dict[str, Any] | None]:
    verdict, found = published.verdict, published.rows
    documents: dict[str, dict[str, Any] | None] = {ctrf.NAME: ctrf.to_json(verdict, found)}
    if not intoto.can_be_made(verdict):
        return {**documents, intoto.TEST_RESULT: None, intoto.SVR: None}
    file, url = _policy_file(published), intoto.run_url(published.environ)
    documents[intoto.TEST_RESULT] = intoto.test_result(verdict, found, policy_file=file, url=url)
    documents[intoto.SVR] = intoto.svr(verdict, policy_file=file)
    return documents


def _policy_file(published: Publication) -> dict[str, Any]:
    """The policy as a resource descriptor: the file's digest, and that of it with the tests it expects."""
    name = digests.POLICY.as_posix()
    descriptor: dict[str, Any] = {"name": name, "annotations": {"stackproof_policy": published.verdict.policy}}
    try:
        return {**descriptor, "digest": {"sha256": digests.file((published.project or Path()) / name)}}
    except OSError:
        return {**descriptor, "uri": f"file:{name}"}


def _day(verdict: Verdict) -> date | None:
    try:
        return date.fromisoformat(verdict.as_of)
    except ValueError:
        return None


def _case(rule: Rule) -> Case:
    text = "\n".join(f"{finding.state.value}: {finding.text}" for finding in rule.findings)
    return Case(suite=SUITE, classname="", name=rule.title, outcome=_outcome(rule), message=rule.summary, text=text)


def _outcome(rule: Rule) -> Outcome:
    match rule.state:
        case State.PASS:
            return Outcome.PASSED
        case State.FAIL:
            return Outcome.FAILED
        case State.NOT_PROVEN:
            return Outcome.ERROR if rule.blocking else Outcome.SKIPPED
