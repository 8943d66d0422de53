"""Whether live smokes have run of late: sentences, exit codes, and what a CI job shows."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from tests.unit.verdict.conftest import POLICY
from tests.unit.verdict.test_live_rule import smoke

from stackproof.cli import freshness_cli
from stackproof.cli.main import main
from stackproof.errors import ExitCode

NOW = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _the_commands_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its day is NOW's, whatever it is here and however long the tests take."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls.fromtimestamp(NOW.timestamp(), tz)

    monkeypatch.setattr(freshness_cli, "datetime", Clock)


def left(folder: Path, days: int, outcome: str = "passed", *, setup: str = "gpt", **more: Any) -> None:
    stopped = (NOW - timedelta(days=days)).isoformat()
    data = {**smoke(outcome, setup=setup, **more), "stopped": stopped}
    path = folder / f".stackproof/live/{setup}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("days", "outcome", "code", "said"),
    [
        (0, "passed", ExitCode.PASS, "✓ live smoke of gpt passed today ("),
        (8, "passed", ExitCode.PASS, "✓ live smoke of gpt passed 8 days ago ("),
        (9, "passed", ExitCode.NOT_PROVEN, "✗ live smoke of gpt did not run for 9 days (limit 8): the last one passed"),
        (9, "skipped", ExitCode.NOT_PROVEN, "✗ live smoke of gpt did not run for 9 days (limit 8): the last one was"),
        (1, "failed", ExitCode.NOT_PROVEN, "✗ live smoke of gpt failed yesterday ("),
        (1, "blocked", ExitCode.NOT_PROVEN, "✗ live smoke of gpt was blocked yesterday ("),
        (1, "stopped", ExitCode.NOT_PROVEN, "✗ live smoke of gpt was stopped by its budget yesterday ("),
        (-2, "passed", ExitCode.NOT_PROVEN, "✗ live smoke of gpt says that it passed on "),
    ],
)
def test_a_sentence_says_what_since_when_and_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, days: int, outcome: str, code: ExitCode, said: str
) -> None:
    left(tmp_path, days, outcome)
    assert main(["freshness", "--setup", "gpt"], environ={}, project=tmp_path) == code
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert ("next: " in out) is (code is not ExitCode.PASS)
    assert all(len(line) <= 120 for line in out.splitlines())


def test_one_that_is_not_there_leads_to_where_it_is_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noxfile.py").write_text("def live_smoke(session): ...  # stackproof\n")
    assert main(["freshness", "--setup", "gpt"], environ={}, project=tmp_path) == ExitCode.NOT_PROVEN
    assert capsys.readouterr().out == (
        "✗ live smoke of gpt has not run, as far as there is evidence\n"
        "    next: nox -s live_smoke -- --setup gpt; evidence is looked for in .stackproof/live/ and where "
        "STACKPROOF_LIVE_EVIDENCE says\n"
    )


def test_setups_and_limit_are_those_of_the_policy_unless_they_are_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/release.yaml").write_text(POLICY + "live: {setups: [gpt, gemini], max_age_days: 3}\n")
    left(tmp_path, 4)
    left(tmp_path, 1, setup="gemini")

    def told(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = main(["freshness", "--json", *arguments], environ={}, project=tmp_path)
        facts: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert facts["exit_code"] == code
        return code, {each["setup"]: (each["state"], each["fresh"]) for each in facts["setups"]}

    assert told() == (7, {"gpt": ("stale", False), "gemini": ("passed", True)})
    assert told("--setup", "gemini") == (0, {"gemini": ("passed", True)})
    assert told("--setup", "gpt, gemini") == told()
    assert told("--setup", "gpt", "--max-age-days", "4") == (0, {"gpt": ("passed", True)})
    assert told("--max-age-days", "4") == (0, {"gpt": ("passed", True), "gemini": ("passed", True)})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no setup is named, and ci/release.yaml does not exist"),
        (("--setup", "gtp"), "'gtp'"),
        (("--setup", "gpt", "--max-age-days", "0"), "0"),
    ],
)
def test_a_wrong_command_line_is_no_stale_smoke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert main(["freshness", *arguments], environ={}, project=tmp_path) == ExitCode.USAGE
    assert said in capsys.readouterr().err


def test_a_ci_job_gets_a_summary_and_no_text_of_others_is_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left(tmp_path, 1, "failed", reason="boom\n::set-output name=x::y | <b> `", model="<script>")
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    environ = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"}
    assert main(["freshness", "--setup", "gpt"], environ=environ, project=tmp_path) == ExitCode.NOT_PROVEN
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"
    assert not any(line.lstrip().startswith("::set-output") for line in lines)
    text = summary.read_text()
    assert text.startswith("before\n# Live smokes: 1 of 1 not fresh\n")
    row = next(line for line in text.splitlines() if line.startswith("| ✗"))
    assert "boom" in row
    assert "<b>" not in text
    assert row.replace("\\|", "").count("|") == 5


def test_a_key_of_the_environment_is_shown_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "a-plain-looking-value-of-a-key"
    left(tmp_path, 1, "failed", reason=f"the key {secret} is refused")
    summary = tmp_path / "summary.md"
    environ = {"OPENAI_API_KEY": secret, "GITHUB_STEP_SUMMARY": str(summary)}
    for arguments in ((), ("--json",)):
        main(["freshness", "--setup", "gpt", *arguments], environ=environ, project=tmp_path)
        out = capsys.readouterr().out
        assert "the key *** is refused" in out
        assert secret not in out + summary.read_text()
