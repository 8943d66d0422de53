"""The verdict on a terminal, on a page, for machines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.verdict.conftest import Project

from stackproof.cli import surroundings
from stackproof.errors import UsageError
from stackproof.evidence import jsonfile, junit
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import publish, render, terminal
from stackproof.verdict.records import Rule, State, Verdict, failed, not_proven, remark


def rule(name: str, *findings: object, good: str = "fine", blocking: bool = True, lead: str | None = None) -> Rule:
    return Rule(
        id=name,
        title=name,
        good=good,
        findings=findings,  # type: ignore[arg-type]
        proves="p",
        excludes="x",
        evidence=(f"{name}.json",),
        again=f"nox -s {name}",
        blocking=blocking,
        lead=lead,
    )


VERDICT = Verdict(
    rules=(
        rule("cell", good="33 passed, 1 skipped, as expected"),
        rule("docker", not_proven("no engine answered"), blocking=False),
        rule(
            "types",
            failed("a.py:88: wrong | <b>"),
            failed("b.py:1: wrong"),
            lead="2 errors in 61 files; first a.py:88",
        ),
        rule("flaky", remark("test_stream_order in cell"), good="1 of 2 allowed"),
        rule("benchmark", remark("measured"), good="1.08 × floor (gate 1.20)"),
    ),
    run_id="7f3c2a",
    commit="4c1d9e2" + "0" * 33,
    started="2026-12-01T10:20:00.000+00:00",
    stopped="2026-12-01T10:22:41.000+00:00",
    as_of="2026-12-01",
)


def test_a_project_without_a_commit_is_told_so_once() -> None:
    first = terminal.lines(replace(VERDICT, commit=None), "run")[0]
    assert first == "RELEASE VERDICT  FAIL     no commit, 2026-12-01 10:22, 2 min 41 s"


def test_a_person_sees_a_line_per_rule_and_what_to_run_again() -> None:
    assert terminal.lines(VERDICT, ".stackproof/runs/7f3c2a") == [
        "RELEASE VERDICT  FAIL     commit 4c1d9e2, 2026-12-01 10:22, 2 min 41 s",
        "  ✓ cell       33 passed, 1 skipped, as expected",
        "  ? docker     not proven: no engine answered",
        "      wanted where available: said, and not counted",
        "  ✗ types      2 errors in 61 files; first a.py:88",
        "      a.py:88: wrong | <b>",
        "      b.py:1: wrong",
        "  ~ flaky      1 of 2 allowed",
        "      test_stream_order in cell",
        "  ✓ benchmark  1.08 × floor (gate 1.20)",
        "1 failed, 1 not proven, 3 green.  Evidence .stackproof/runs/7f3c2a",
        "again: nox -s docker",
        "       nox -s types",
    ]


def test_what_is_said_is_folded_on_a_narrow_terminal_and_what_is_copied_is_not() -> None:
    for line in terminal.lines(VERDICT, "run", "verdict.html"):
        column = terminal.hanging(VERDICT, line)
        if line.startswith(("RELEASE", "page:", "again:", "       ")) or "Evidence" in line:
            assert column == 0, line
        else:
            assert column >= 6, line
            assert not line[column:].startswith(" "), "there what it says begins"


def test_a_page_shows_text_from_tests_as_text() -> None:
    text = render.to_markdown(VERDICT)
    assert text.startswith("# Release verdict: FAIL\n")
    assert "a.py:88: wrong | &lt;b&gt;" in text
    assert "| ✗ | types | 2 errors in 61 files; first a.py:88 |" in text
    assert "- proves: p\n- excludes: x\n- evidence: `types.json`" in text


def test_machines_get_the_same_facts() -> None:
    data = json.loads(json.dumps(render.to_json(VERDICT)))
    assert (data["schema"], data["verdict"], data["exit_code"]) == (1, "FAIL", 1)
    assert [each["state"] for each in data["rules"]] == ["PASS", "NOT PROVEN", "FAIL", "PASS", "PASS"]
    assert data["rules"][3]["findings"] == [{"state": "REMARK", "text": "test_stream_order in cell"}]
    assert data["rules"][1]["blocking"] is False


def test_no_rule_is_not_proven() -> None:
    assert Verdict(rules=()).state is State.NOT_PROVEN


def test_a_verdict_is_written_beside_its_evidence_and_cases_stay_apart_by_cell(project: Project) -> None:
    run = project.good_run()
    verdict = run.verdict()
    publish.write(run.folder, verdict)
    assert run.verdict() == verdict, "writing a verdict changes no evidence"
    assert (jsonfile.read(run.folder / "verdict.json") or {})["verdict"] == "PASS"
    merged = junit.read(run.folder / "junit.xml")
    assert not merged.problems
    assert len(merged.cases) == 6 + len(verdict.rules)
    assert {case.suite for case in merged.cases} == {
        "base-ollama-library-reference",
        "base-ollama-server-reference",
        "release verdict",
    }


def test_rules_are_cases_of_the_merged_report(tmp_path: Path) -> None:
    publish.write(tmp_path, VERDICT)
    outcomes = {case.name: case.outcome for case in junit.read(tmp_path / "junit.xml").cases}
    assert outcomes == {
        "cell": Outcome.PASSED,
        "docker": Outcome.SKIPPED,
        "types": Outcome.FAILED,
        "flaky": Outcome.PASSED,
        "benchmark": Outcome.PASSED,
    }


def test_the_page_of_a_ci_run_is_appended_to(tmp_path: Path) -> None:
    page = tmp_path / "summary"
    page.write_text("before\n")
    assert publish.summarise(VERDICT, {"GITHUB_STEP_SUMMARY": str(page)})
    assert page.read_text().startswith("before\n# Release verdict: FAIL\n")
    assert not publish.summarise(VERDICT, {})
    assert not publish.summarise(VERDICT, {"GITHUB_STEP_SUMMARY": str(tmp_path)})


def test_a_run_is_found_by_id_by_path_or_as_the_newest(project: Project) -> None:
    with pytest.raises(UsageError, match="no run yet"):
        surroundings.run_folder(project.folder, None)
    first = project.good_run()
    assert surroundings.run_folder(project.folder, first.run_id) == first.folder
    assert surroundings.run_folder(project.folder, f".stackproof/runs/{first.run_id}") == first.folder
    assert surroundings.run_folder(project.folder, None) == first.folder
    with pytest.raises(UsageError, match="no run elsewhere"):
        surroundings.run_folder(project.folder, "elsewhere")
