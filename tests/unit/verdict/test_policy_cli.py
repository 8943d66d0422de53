"""The commands around policy and verdict, as the command line calls them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from tests.unit.verdict.conftest import LIBRARY, POLICY, Project, node

from stackproof.cli import policy_cli
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import jsonfile
from stackproof.evidence.outcomes import Outcome
from stackproof.verdict import publish


@dataclass(frozen=True)
class Around:
    environ: Mapping[str, str]
    project: Path


def call(command: click.Command, project: Project, *arguments: str) -> object:
    around = Around(environ={}, project=project.folder)
    return command.main(args=list(arguments), prog_name="stackproof", standalone_mode=False, obj=around)


def test_a_policy_in_order_is_said_to_be(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli.policy, project, "check") == ExitCode.PASS
    assert capsys.readouterr().out == "the policy is in order\n"
    (project.folder / f"ci/expected/{LIBRARY}.json").unlink()
    assert call(policy_cli.policy, project, "check") == ExitCode.TESTS
    assert f"{LIBRARY}.json is missing" in capsys.readouterr().out


def test_what_is_wrong_with_a_policy_comes_as_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(policy_cli.policy, project, "check", "--json") == ExitCode.PASS
    whole = {"schema": 1, "kind": "policy-check", "file": "ci/release.yaml", "run": None}
    assert json.loads(capsys.readouterr().out) == {**whole, "complaints": [], "exit_code": 0}
    waiver = f"waivers:\n  - {{test: '{node('test_one')}', reason: r, owner: o, expires: 2000-01-01}}\n"
    project.write("ci/release.yaml", POLICY + waiver)
    project.write("ci/expected/gone.json", "{}")
    project.commit()
    run = project.good_run()
    assert call(policy_cli.policy, project, "check", run.run_id, "--json") == ExitCode.TESTS
    told = json.loads(capsys.readouterr().out)
    assert (told["run"], told["exit_code"]) == (run.run_id, 1)
    assert [(each["kind"], each["file"], each["test"]) for each in told["complaints"]] == [
        ("left-over", "ci/expected/gone.json", None),
        ("expired", "ci/release.yaml", node("test_one")),
        ("stale", "ci/release.yaml", node("test_one")),
    ]
    assert told["complaints"][1]["line"] == POLICY.count("\n") + 2
    # The same lines as a person sees.
    call(policy_cli.policy, project, "check", run.run_id)
    assert [each["text"] for each in told["complaints"]] == capsys.readouterr().out.splitlines()


def test_a_stale_waiver_is_named_from_the_newest_run_or_the_one_that_is_given(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    waiver = f"waivers:\n  - {{test: '{node('test_one')}', reason: r, owner: o, expires: 2099-01-01}}\n"
    project.write("ci/release.yaml", POLICY + waiver)
    project.commit()
    run = project.good_run()
    for arguments in ((), (run.run_id,)):
        assert call(policy_cli.policy, project, "check", *arguments) == ExitCode.TESTS
        assert f"is stale: its test did not fail in run {run.run_id}" in capsys.readouterr().out
    project.commit()
    assert call(policy_cli.policy, project, "check", run.run_id) == ExitCode.PASS
    assert capsys.readouterr().out == (
        f"run {run.run_id} is of another commit and says nothing about waivers\nthe policy is in order\n"
    )


def test_the_newest_run_is_weighed_again_and_nothing_in_it_changes(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run = project.good_run()
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    assert call(policy_cli.verdict, project) == ExitCode.PASS
    assert "RELEASE VERDICT  PASS" in capsys.readouterr().out
    assert call(policy_cli.verdict, project, run.run_id, "--json") == ExitCode.PASS
    assert json.loads(capsys.readouterr().out)["run_id"] == run.run_id
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


def test_expectations_are_written_from_a_run_by_its_id(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run = project.good_run()
    (project.folder / f"ci/expected/{LIBRARY}.json").unlink()
    assert call(policy_cli.policy, project, "update", run.run_id) == ExitCode.PASS
    assert f"{LIBRARY}: 3 tests, 1 skipped, 0 expected to fail" in capsys.readouterr().out
    assert (project.folder / f"ci/expected/{LIBRARY}.json").is_file()


def test_a_secret_of_a_setup_is_not_printed_with_a_verdict(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "correct horse battery staple"
    project.write("stacks/setups.yaml", "ollama: {description: d, secrets: [API_KEY]}\n")
    project.commit()
    for _ in range(2):  # the second is compared with the first
        run = project.run()
        run.cell("server:reference", {node(f"test_one[{secret}-{run.run_id}]"): Outcome.FAILED})
        run.finish()
        publish.write(run.folder, run.verdict())
    around = Around(environ={"API_KEY": secret}, project=project.folder)
    for arguments in ([], ["--json"]):
        code = policy_cli.verdict.main(args=arguments, prog_name="stackproof", standalone_mode=False, obj=around)
        assert code == ExitCode.TESTS
        shown = capsys.readouterr().out
        assert "***" in shown
        assert secret not in shown


def test_a_live_smoke_does_not_hide_the_newest_run_that_can_be_weighed(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.good_run()
    smoke = project.run()
    jsonfile.write(smoke.folder / "plan.json", {"schema": 1, "kind": "smoke"})
    smoke.finish()
    assert call(policy_cli.verdict, project) == ExitCode.PASS
    assert call(policy_cli.verdict, project, smoke.run_id) == ExitCode.NOT_PROVEN
    assert "base × ollama × library:reference" in capsys.readouterr().out


@pytest.mark.parametrize("inside", ["*/", "*/*/"])
def test_a_folder_of_runs_is_no_run_that_left_nothing(project: Project, inside: str, tmp_path: Path) -> None:
    run = project.good_run()
    kept = tmp_path / "kept" / "0"
    kept.mkdir(parents=True)
    run.folder.rename(kept / "a1b2c3")
    given = kept if inside == "*/" else kept.parent
    with pytest.raises(UsageError) as refused:
        call(policy_cli.verdict, project, f"{given}/")
    assert "is a folder of runs, not a run" in refused.value.message
    assert refused.value.hint == f"name the runs in it: {given}/{inside}"


def test_a_folder_with_nothing_in_it_is_a_run_that_proves_nothing(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert call(policy_cli.verdict, project, str(tmp_path / "empty")) == ExitCode.NOT_PROVEN
