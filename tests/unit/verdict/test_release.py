"""`verify-release` from policy to verdict, with a stand-in for the part that runs cells and measures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.unit.ci.runner import obeyed_by_github
from tests.unit.claims.conftest import CLAIMS, TESTS
from tests.unit.verdict.conftest import GOOD, POLICY, TODAY, Project, Run, node

from stackproof import release
from stackproof.checks import benchmark
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.gather import gather
from stackproof.evidence.machine import Machine
from stackproof.evidence.outcomes import Outcome
from stackproof.plan import Plan
from stackproof.run import orchestrate as run
from stackproof.run.orchestrate import CellOutcome, RunOutcome
from stackproof.run.steps import Steps
from stackproof.verdict import expected
from stackproof.verdict.expected import Expectation
from stackproof.verdict.records import Verdict
from stackproof.verdict.weigh import weigh, weigh_evidence


class Cells:
    """Leaves what cells leave, without running anything."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.tests = dict(GOOD)
        self.exit_code = ExitCode.PASS
        self.plans: list[Plan] = []

    def execute(
        self,
        plan: Plan,
        *,
        console: Console | None = None,
        environ: object = None,
        keep_going: bool = False,
        steps: Steps | None = None,
        log: object = None,
    ) -> RunOutcome:
        assert keep_going
        assert steps is not None
        for cell in plan.cells:
            steps.begin(cell.title)
        self.plans.append(plan)
        made = object.__new__(Run)
        made.project, made.run_id, made.folder = self.project, plan.run_id, plan.run_dir
        for cell in plan.cells:
            made.cell(cell.stack_config, self.tests)
        cells: tuple[CellOutcome, ...] = ()
        return RunOutcome(run_id=plan.run_id, run_dir=plan.run_dir, cells=cells, exit_code=self.exit_code)


@pytest.fixture
def cells(project: Project, monkeypatch: pytest.MonkeyPatch) -> Cells:
    """Stands in for `run.execute` and for the twenty turns."""
    made = Cells(project)
    monkeypatch.setattr(run, "execute", made.execute)

    def measure(folder: Path, run_dir: Path, *, names: Iterable[str]) -> BenchmarkFacts:
        assert list(names) == ["turns"]
        aside = project.run()
        aside.checks()
        (run_dir / "checks").mkdir(exist_ok=True)
        (aside.folder / "checks/benchmark.json").rename(run_dir / "checks/benchmark.json")
        line = BenchmarkLine(name="turns", turns=(0.011,) * 20, floor=(0.01,) * 20)
        return BenchmarkFacts(
            lines={"turns": line}, machine=Machine(processor="p", cpus=1, system="s", python="y"), date="d"
        )

    monkeypatch.setattr(benchmark, "measure", measure)
    project.write("pkg/a.py", "x: int = 1\n")
    project.write(".gitignore", ".stackproof/\n.mypy_cache/\n")
    project.commit()
    return made


def verify(project: Project, **more: bool) -> int:
    return release.verify(project.folder, environ={}, today=TODAY, **more)


def test_a_release_is_one_run_folder_with_one_verdict(
    project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(project) == ExitCode.PASS
    shown = capsys.readouterr().out
    assert "RELEASE VERDICT  PASS" in shown
    (plan,) = cells.plans
    assert f"page:  .stackproof/runs/{plan.run_id}/verdict.html" in shown
    assert "[3/5] types" in shown
    assert "[5/5] recordings" in shown
    assert [cell.id for cell in plan.cells] == ["base-ollama-library-reference", "base-ollama-server-reference"]
    names = {path.relative_to(plan.run_dir).as_posix() for path in plan.run_dir.rglob("*") if path.is_file()}
    assert names >= {
        "plan.json", "manifest.json", "verdict.json", "verdict.md", "verdict.html", "junit.xml", "steps.json",
        "ctrf/report.json", "intoto/test-result.json", "intoto/svr.json",
        "checks/typecheck.json", "checks/benchmark.json", "checks/recordings.json",
    }  # fmt: skip
    verdict = json.loads((plan.run_dir / "verdict.json").read_text())
    assert {rule["state"] for rule in verdict["rules"]} == {"PASS"}


def test_a_failing_cell_and_a_type_error_are_both_in_the_verdict(
    project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write("pkg/a.py", "x: int = 'a'\n")
    project.commit()
    cells.tests[node("test_one")] = Outcome.FAILED
    assert verify(project) == ExitCode.TESTS
    shown = capsys.readouterr().out
    assert "1 error in 1 file; first pkg/a.py:1" in shown
    assert "again: nox -s integration" in shown
    assert "nox -s typecheck -- pkg" in shown


def test_the_page_of_a_ci_run_gets_the_verdict(project: Project, cells: Cells, tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    release.verify(project.folder, environ={"GITHUB_STEP_SUMMARY": str(page)}, today=TODAY)
    assert page.read_text().startswith("# Release verdict: PASS")


def test_json_is_all_that_is_printed_when_it_is_asked_for(
    project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(project, as_json=True) == ExitCode.PASS
    assert json.loads(capsys.readouterr().out)["verdict"] == "PASS"


def test_an_interrupted_release_keeps_the_code_of_the_signal_and_is_not_green(
    project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    cells.exit_code = ExitCode.SIGTERM
    assert verify(project) == ExitCode.SIGTERM
    assert "RELEASE VERDICT  NOT PROVEN" in capsys.readouterr().out


def test_nothing_runs_when_the_policy_names_what_does_not_exist(project: Project, cells: Cells) -> None:
    project.write("ci/release.yaml", POLICY.replace("library:reference", "library:refrence"))
    with pytest.raises(UsageError, match="did you mean 'reference'"):
        verify(project)
    assert not cells.plans


def test_an_unknown_argument_is_refused(project: Project) -> None:
    with pytest.raises(UsageError, match="--fast"):
        release.main(project.folder, ["--fast"])


def test_a_runner_of_github_gets_annotations_and_obeys_nothing_else(
    project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    cells.tests[node("test_one")] = Outcome.FAILED
    release.verify(project.folder, environ={"GITHUB_ACTIONS": "true"}, today=TODAY)
    obeyed = obeyed_by_github(capsys.readouterr().out)
    assert obeyed[0] == "stop-commands"
    assert next(found for found in obeyed if found.startswith("::group")).startswith("::group::[3/")
    after = [found for found in obeyed if found.startswith("::error")]
    assert obeyed[-2:] == ["resumed", *after]
    assert [line.partition("::assert")[0] for line in after] == [
        f"::error file=tests/integration/base/test_chat.py,title={node('test_one').replace(':', '%3A')}"
    ]
    assert release.verify(project.folder, environ={"GITHUB_ACTIONS": "true"}, today=TODAY, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "FAIL"


def test_a_secret_of_a_setup_is_in_nothing_that_is_printed_or_written(
    project: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "correct horse battery staple"
    named = node(f"test_one[{secret}]")
    cells.tests[named] = Outcome.FAILED
    project.write("stacks/setups.yaml", "ollama: {description: d, secrets: [API_KEY]}\n")
    project.expect(cells.tests)
    project.commit()
    assert release.verify(project.folder, environ={"API_KEY": secret}, today=TODAY) == ExitCode.TESTS
    assert secret not in capsys.readouterr().out
    (plan,) = cells.plans
    for path in plan.run_dir.rglob("*"):
        if path.is_file() and "cells" not in path.parts and path.name != "manifest.json":
            assert secret not in path.read_text(), path


@pytest.fixture
def claimed(project: Project, cells: Cells, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project with claims that hold, on a laptop; pytest loads no plugin but ours, which saves seconds."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)  # on a laptop
    project.write("ci/release.yaml", POLICY + "claims: {file: tests/claims.yaml, tests: [tests/faults]}\n")
    project.write("tests/claims.yaml", CLAIMS)
    project.write("tests/faults/test_claims.py", TESTS)
    names = ("cut[0]", "cut[2]", "full", "elsewhere")
    tests = frozenset(f"tests/faults/test_claims.py::test_{name}" for name in names)
    expected.save(project.folder, "claims", Expectation(nodeids=tests))
    project.write(".gitignore", ".stackproof/\n.mypy_cache/\n.pytest_cache/\n__pycache__/\n")
    project.commit()
    return project


def test_claims_are_run_and_those_that_hold_are_one_line(
    claimed: Project, cells: Cells, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.verify(claimed.folder, environ=os.environ, today=TODAY) == ExitCode.PASS
    shown = capsys.readouterr().out
    assert "  ✓ claims " in shown
    assert "  ? claim elsewhere" in shown
    assert "claim cut" not in shown
    run_dir = cells.plans[0].run_dir
    assert {path.name for path in (run_dir / "checks/claims").iterdir()} == {
        "junit.xml", "observations.jsonl", "pytest.log", "tests.jsonl",
    }  # fmt: skip
    verdict = json.loads((run_dir / "verdict.json").read_text())
    (cut,) = (each for each in verdict["rules"] if each["id"] == "claim:cut")
    assert (cut["state"], cut["excludes"]) == ("PASS", "what a real provider sends; other transports")


def test_a_signal_while_claims_run_ends_a_release_with_a_verdict(
    claimed: Project, cells: Cells, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    hang = f"    open({str(begun)!r}, 'w').close()\n    time.sleep(600)\n"
    claimed.write(
        "tests/faults/test_claims.py", TESTS.replace("    for seed in range(3):\n", hang + "    for seed in (1,):\n")
    )
    claimed.commit()

    def interrupt() -> None:
        deadline = time.monotonic() + 300
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert release.verify(claimed.folder, environ=os.environ, today=TODAY) == ExitCode.SIGINT
    thread.join()
    shown = capsys.readouterr().out
    assert "RELEASE VERDICT  NOT PROVEN" in shown
    assert "? claim full" in shown
    assert "claim cut" not in shown


def test_claims_by_name_are_run_without_a_verdict(claimed: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(claimed.folder, ["--claim", "cut"]) == ExitCode.PASS
    shown = capsys.readouterr().out
    assert shown.startswith("✓ claims  1 of 1 hold\n")
    assert "VERDICT" not in shown


def test_faults_in_the_environment_are_refused_before_anything_runs(project: Project, cells: Cells) -> None:
    with pytest.raises(UsageError, match="STACKPROOF_INJECT: a release is not verified with injected faults"):
        release.verify(project.folder, environ={"STACKPROOF_INJECT": "slow-first-byte:0.01"}, today=TODAY)
    assert not cells.plans


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_turns_are_timed_ends_a_release_with_a_verdict(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, signum: signal.Signals
) -> None:
    def measure(*_: object, **__: object) -> BenchmarkFacts:
        os.kill(os.getpid(), signum)
        time.sleep(60)
        raise AssertionError("the signal was not heard")

    monkeypatch.setattr(benchmark, "measure", measure)
    before = signal.getsignal(signum)
    assert verify(project) == (ExitCode.SIGINT if signum is signal.SIGINT else ExitCode.SIGTERM)
    assert signal.getsignal(signum) is before
    shown = capsys.readouterr().out
    assert "RELEASE VERDICT  NOT PROVEN" in shown
    assert "? benchmark turns" in shown


def test_a_signal_while_the_verdict_is_made_leaves_it_whole(
    project: Project, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weighed(*arguments: Any, **more: Any) -> Verdict:
        os.kill(os.getpid(), signal.SIGTERM)
        return weigh(*arguments, **more)

    monkeypatch.setattr(release, "weigh", weighed)
    assert verify(project) == ExitCode.SIGTERM
    run_dir = cells.plans[0].run_dir
    assert json.loads((run_dir / "verdict.json").read_text())["verdict"] == "PASS"
    assert (run_dir / "verdict.html").is_file()


def test_a_copy_of_a_run_with_claims_counts_once(claimed: Project, cells: Cells, tmp_path: Path) -> None:
    assert release.verify(claimed.folder, environ=os.environ, today=TODAY) == ExitCode.PASS
    run_dir = cells.plans[0].run_dir
    copy = tmp_path / "copy"
    shutil.copytree(run_dir, copy)
    verdict = weigh_evidence(claimed.folder, gather([run_dir, copy]), environ={}, today=TODAY)
    assert verdict.exit_code == ExitCode.PASS, [each.summary for each in verdict.rules]
    (copy / "checks/claims/observations.jsonl").write_text("")
    verdict = weigh_evidence(claimed.folder, gather([run_dir, copy]), environ={}, today=TODAY)
    assert verdict.exit_code == ExitCode.NOT_PROVEN
