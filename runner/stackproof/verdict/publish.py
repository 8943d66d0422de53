"""Writes a verdict beside its evidence, and to the page of a CI run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stackproof.evidence import jsonfile, merge
from stackproof.evidence import read as evidence
from stackproof.evidence.junit import Case
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import render
from stackproof.verdict.records import Rule, State, Verdict

SUITE = "release verdict"


def write(run_dir: Path, verdict: Verdict) -> None:
    """Write `verdict.json`, `verdict.md` and the merged `junit.xml`, which has the rules as a suite of their own."""
    jsonfile.write(run_dir / "verdict.json", render.to_json(verdict))
    jsonfile.write_text(run_dir / "verdict.md", render.to_markdown(verdict))
    reports = {name: cell.report for name, cell in evidence.read(run_dir).cells.items()}
    merge.write(run_dir / "junit.xml", reports, {SUITE: [_case(rule) for rule in verdict.rules]})


def summarise(verdict: Verdict, environ: Mapping[str, str]) -> bool:
    """Append the Markdown to the file that GITHUB_STEP_SUMMARY names; whether there is one that can be written."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return False
    try:
        with Path(name).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(render.to_markdown(verdict) + "\n")
    except OSError:
        return False
    return True


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
