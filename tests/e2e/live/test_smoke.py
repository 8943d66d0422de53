"""`stackproof smoke` against providers that behave badly: what it says, its exit code, and what it leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.live import bad_answers as answers
from tests.e2e.live.bad_answers import Refusal
from tests.e2e.live.bad_provider import Asked, BadProvider, Manner, bad_provider
from tests.e2e.live.smoking import Smoked, ended, environment, holding, project, smoke, start
from tests.unit.ci.runner import obeyed_by_github

from stackproof.cli.main import main
from stackproof.evidence import junit, manifest
from stackproof.evidence.outcomes import Counts

KEY = "sk-proj-made-up-for-this-test-0123"
NEEDED = "a real call needs OPENAI_API_KEY and STACKPROOF_LIVE_MODEL; missing: "


class Turning(BadProvider):
    """Takes the key for a while, and says it in whole once it takes it no longer."""

    def refusal_of(self, asked: Asked) -> Refusal | None:
        """Refuses every call after the first one."""
        calls = [each for each in self.asked if each.method == "POST"]
        return answers.unauthorized(asked.key, whole=True) if asked.method == "POST" and len(calls) > 1 else None


@contextmanager
def turning() -> Iterator[Turning]:
    server = Turning(Manner.GOOD, seconds=0, retry_after=1)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def openai(url: str, models: str = "openai/bad-1") -> dict[str, str]:
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": models}


def leaks(folder: Path, told: Smoked) -> list[str]:
    return holding(folder, KEY) + [name for name in ("out", "err") if KEY in getattr(told, name)]


@pytest.mark.parametrize(
    ("variables", "missing", "name"),
    [
        ({"OPENAI_API_KEY": KEY}, "STACKPROOF_LIVE_MODEL", "openai"),
        ({"STACKPROOF_LIVE_MODEL": "openai/gpt-5-mini", "OPENAI_API_KEY": ""}, "OPENAI_API_KEY", "openai/gpt-5-mini"),
    ],
)
def test_with_a_variable_missing_each_test_says_so_and_nothing_is_called(
    tmp_path: Path, variables: dict[str, str], missing: str, name: str
) -> None:
    folder = project(tmp_path)
    told = smoke(folder, **variables)
    assert told.code == 0, told.err
    tests = ("test_answers", "test_streams", "test_answers_once_more")
    for test in tests:
        assert f"– tests/live/test_calls.py::{test}   skipped: {NEEDED}{missing}\n" in told.out
    assert told.last == f"NOTHING WAS CALLED: {NEEDED}{missing}"
    assert (told.live["outcome"], told.model["outcome"], told.model["model"]) == ("skipped", "skipped", name)
    assert not (folder / ".stackproof/live").exists()
    assert leaks(folder, told) == []
    # Nothing was left of looking for the tests.
    assert len(list((folder / ".stackproof/runs").iterdir())) == 1


def test_what_is_required_and_missing_is_not_green(tmp_path: Path) -> None:
    told = smoke(project(tmp_path), "--require", "--setup", "gpt")
    assert told.code == 7
    assert told.last == f"NOTHING WAS CALLED: {NEEDED}OPENAI_API_KEY, STACKPROOF_LIVE_MODEL (--require)"


def test_on_a_fork_the_reason_says_so(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(
        json.dumps({"pull_request": {"head": {"repo": {"full_name": "a/r"}}, "base": {"repo": {"full_name": "b/r"}}}})
    )
    told = smoke(
        project(tmp_path / "project"),
        STACKPROOF_LIVE_MODEL="openai/a",
        GITHUB_EVENT_NAME="pull_request",
        GITHUB_EVENT_PATH=str(event),
    )
    assert told.code == 0
    assert told.last == f"NOTHING WAS CALLED: {NEEDED}OPENAI_API_KEY (a pull request from a fork gets no secrets)"


def test_a_good_provider_passes_and_leaves_its_evidence(tmp_path: Path) -> None:
    folder, page = project(tmp_path / "project"), tmp_path / "summary.md"
    with bad_provider() as provider:
        told = smoke(folder, **openai(provider.url), GITHUB_STEP_SUMMARY=str(page))
    assert told.code == 0, told.out + told.err
    assert "● openai key accepted, model bad-1 is there   " in told.out
    assert told.last.startswith("LIVE SMOKE PASSED: 1 of 1 model passed; 5 of 60 requests (2 of them before the tests)")
    model = told.model
    assert (model["outcome"], model["tests"], model["requests"], model["retries"]) == ("passed", {"passed": 3}, 3, 0)
    assert (model["model"], model["setup"]) == ("openai/bad-1", "gpt")
    assert model["tokens"]["output"] > 0
    assert told.live["budget"]["requests"] == [5, 60]
    assert told.run_dir is not None
    assert json.loads((folder / ".stackproof/live/gpt.json").read_text()) == told.live
    assert manifest.verify(told.run_dir).damage == ()
    assert "checks/live.json" in manifest.verify(told.run_dir).files
    # The tests, and the model itself.
    assert junit.read(told.run_dir / "junit.xml").counts == Counts(passed=4)
    assert page.read_text().startswith("# Live smoke: passed\n")
    assert leaks(folder, told) == []
    # A later smoke without secrets does not take this one away.
    later = smoke(folder)
    assert later.code == 0
    assert later.last == f"NOTHING WAS CALLED: {NEEDED}OPENAI_API_KEY, STACKPROOF_LIVE_MODEL"
    assert later.model["model"] == "openai"
    assert json.loads((folder / ".stackproof/live/gpt.json").read_text())["outcome"] == "passed"


@pytest.mark.parametrize(
    ("manner", "words", "requests"),
    [
        (Manner.UNAUTHORIZED_WHOLE, "✗ openai rejects OPENAI_API_KEY (401: Incorrect API key provided: ***.", 1),
        (Manner.NO_QUOTA, "✗ openai has no credit left for OPENAI_API_KEY (429 insufficient_quota: ", 2),
    ],
)
def test_a_key_that_is_refused_or_without_credit_blocks_before_anything_is_started(
    tmp_path: Path, manner: Manner, words: str, requests: int
) -> None:
    folder = project(tmp_path)
    with bad_provider(manner) as provider:
        told = smoke(folder, **openai(provider.url))
        assert len(provider.asked) == requests
    assert told.code == 7
    assert words in told.out
    assert told.last.startswith("LIVE SMOKE BLOCKED: 0 of 1 model passed")
    assert told.model["outcome"] == "blocked"
    assert json.loads((folder / ".stackproof/live/gpt.json").read_text())["outcome"] == "blocked"
    assert told.run_dir is not None
    assert not (told.run_dir / "cells").exists()
    assert leaks(folder, told) == []


def test_a_key_that_the_provider_repeats_to_the_tests_is_nowhere(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with turning() as provider:
        told = smoke(folder, **openai(provider.url))
    # The tests failed for the account, and say nothing of the stack.
    assert told.code == 7, told.out
    assert told.model["outcome"] == "blocked"
    assert "(rejected)" in told.model["reason"]
    assert "Incorrect API key provided: ***" in told.out
    assert leaks(folder, told) == []
    assert told.run_dir is not None
    cell = told.run_dir / "cells/live-gpt-library-reference"
    assert "Incorrect API key provided: ***" in (cell / "junit.xml").read_text()
    assert junit.read(told.run_dir / "junit.xml").counts.total == 4
    assert manifest.verify(told.run_dir).damage == ()


def test_a_blocked_model_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider() as provider:
        variables = openai(provider.url, "ollama/gone,openai/bad-1,ollama/bad-1")
        told = smoke(folder, **variables, OLLAMA_URL=provider.url)
        assert {str(each.body["model"]) for each in provider.asked if each.method == "POST"} == {"bad-1"}
    assert told.code == 7, told.out + told.err
    assert {row["model"]: row["outcome"] for row in told.live["models"]} == {
        "ollama/gone": "blocked",
        "ollama/bad-1": "passed",
        "openai/bad-1": "passed",
    }
    assert "✗ ollama has no model 'gone'" in told.out
    assert told.last.startswith("LIVE SMOKE BLOCKED: 2 of 3 models passed")


def test_a_provider_that_dies_in_the_middle_fails_the_tests(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider(Manner.RESET) as provider:
        told = smoke(folder, OLLAMA_URL=provider.url, STACKPROOF_LIVE_MODEL="ollama/bad-1")
    assert told.code == 1, told.out
    assert told.model["outcome"] == "failed"
    assert told.model["tests"] == {"failed": 3}
    assert told.model["requests"] == 3


def test_a_slow_provider_ends_each_test_and_then_the_smoke(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider(Manner.SLOW, seconds=900) as provider:
        variables = {"OLLAMA_URL": provider.url, "STACKPROOF_LIVE_MODEL": "ollama/bad-1"}
        told = smoke(folder, "--timeout", "6", "--max-seconds", "6.5", **variables)
    assert told.code == 1, told.out
    assert "Timeout (>6.0s) from pytest-timeout" in told.out
    assert told.live["budget"]["ended_by"] == "seconds", told.out
    # What the stack still waits for may cost a test its teardown, too.
    assert told.model["tests"].get("failed", 0) + told.model["tests"].get("errors", 0) >= 1
    assert told.model["tests"].get("skipped", 0) >= 1


def test_a_budget_that_ends_in_the_middle_stops_in_order(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider() as provider:
        told = smoke(folder, "--max-requests", "4", **openai(provider.url))
        assert len(provider.asked) == 4
    assert told.code == 7, told.out
    assert told.model["outcome"] == "stopped"
    assert told.model["tests"] == {"passed": 2, "skipped": 1}
    assert told.model["reason"] == "the budget of this run is used up: 4 of 4 requests"
    assert told.live["budget"] == {**told.live["budget"], "requests": [4, 4], "ended_by": "requests"}


def test_a_budget_that_is_gone_before_the_tests_runs_none(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider() as provider:
        told = smoke(folder, "--max-requests", "2", **openai(provider.url))
        assert len(provider.asked) == 2
    assert (told.code, told.model["outcome"]) == (7, "stopped")
    assert "? openai/bad-1 stopped: the budget of this run is used up: 2 of 2 requests" in told.out


def test_tests_that_pass_without_a_call_are_not_green(tmp_path: Path) -> None:
    folder = project(tmp_path, "def test_nothing(live_model):\n    assert live_model.model == 'bad-1'\n")
    with bad_provider() as provider:
        told = smoke(folder, **openai(provider.url))
    assert told.code == 7, told.out
    assert told.model["reason"] == "1 passed, and no call of them was observed"


def test_drift_warns_and_fails_where_it_is_to(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider() as provider:
        variables = openai(provider.url)
        options = ["--suite", "live", "--setup", "gpt", "--stack-config", "library:reference"]
        recording = ["run", *options, "--inference-mode", "record", "--text-model", "openai/bad-1"]
        command = [sys.executable, "-m", "stackproof", *recording]
        done = subprocess.run(
            command, cwd=folder, env=environment(**variables), capture_output=True, text=True, timeout=540, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        # What was recorded once had a field that is gone today.
        for path in (folder / "recordings/gpt").rglob("*.json"):
            content = json.loads(path.read_text())
            if "body" in content["response"]:
                content["response"]["body"]["json"]["said_before"] = True
                path.write_text(json.dumps(content))
        warned = smoke(folder, **variables)
        failed = smoke(folder, "--strict", **variables)
    assert (warned.code, warned.model["outcome"]) == (0, "passed"), warned.out
    assert warned.model["drift"] == {"breaking": 2, "additive": 0, "note": 0, "unrecorded": 0}
    assert "said_before" in warned.out
    assert (failed.code, failed.model["outcome"]) == (6, "failed"), failed.out
    assert "again: STACKPROOF_LIVE_MODEL=openai/bad-1 stackproof smoke --setup gpt --strict" in failed.out


def test_a_service_of_this_machine_is_named_where_its_url_is_missing(tmp_path: Path) -> None:
    told = smoke(project(tmp_path), STACKPROOF_LIVE_MODEL="llama-cpp/smollm2:135m")
    assert told.code == 0
    assert "a provider of setup llama-cpp runs on this machine, too: --provider-service llama-cpp" in told.out
    assert "again: STACKPROOF_LIVE_MODEL=llama-cpp/smollm2:135m stackproof smoke --setup llama-cpp" in told.out


def test_ctrl_c_leaves_what_there_is(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider(Manner.SLOW, seconds=900) as provider:
        variables = {"OLLAMA_URL": provider.url, "STACKPROOF_LIVE_MODEL": "ollama/bad-1"}
        running = start(folder, **variables)
        deadline = time.monotonic() + 240
        while not any(each.method == "POST" for each in provider.asked) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        told = ended(folder, running)
    assert told.code == 130, told.out + told.err
    assert (told.live["outcome"], told.model["outcome"]) == ("stopped", "stopped")
    assert told.model["reason"] == "stopped by SIGINT"
    assert told.last.startswith("LIVE SMOKE STOPPED: ")
    assert told.run_dir is not None
    assert (told.run_dir / "junit.xml").exists()
    assert manifest.verify(told.run_dir).damage == ()


def test_ctrl_c_while_the_provider_is_asked_stops_at_once(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with bad_provider(Manner.SLOW, seconds=900) as provider:
        running = start(folder, **openai(provider.url))
        deadline = time.monotonic() + 240
        while not any(each.method == "POST" for each in provider.asked) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        began = time.monotonic()
        told = ended(folder, running)
    assert told.code == 130, told.out + told.err
    assert time.monotonic() - began < 300  # of 900 s that one answer takes
    assert told.model["reason"] == "stopped by SIGINT before its tests"
    # The list of models and the one token had gone out.
    assert told.live["budget"]["requests"][0] == 2
    assert leaks(folder, told) == []


def test_a_budget_that_is_just_enough_is_green_and_json_is_all_that_is_printed(tmp_path: Path) -> None:
    with bad_provider() as provider:
        told = smoke(project(tmp_path), "--json", "--max-requests", "5", **openai(provider.url))
    assert (told.code, told.model["outcome"]) == (0, "passed"), told.err
    assert json.loads(told.out) == told.live


def test_on_github_nothing_of_it_is_obeyed_but_its_own_notes(tmp_path: Path) -> None:
    tests = "def test_evil(live_model):\n    assert False, 'x\\n::set-output name=a::b'\n"
    with bad_provider() as provider:
        told = smoke(project(tmp_path, tests), **openai(provider.url), GITHUB_ACTIONS="true")
    assert told.code == 1
    obeyed = obeyed_by_github(told.out)
    test, model = (found for found in obeyed if found.startswith("::error"))
    assert test.startswith("::error file=tests/")
    assert model.startswith("::error title=live smoke%3A openai/bad-1::1 failed")
    # One cell is folded; the table and the conclusion are not.
    folds = [found for found in obeyed if found.startswith(("::group", "::endgroup"))]
    assert [found.split("::")[1] for found in folds] == ["group", "endgroup"]
    assert set(obeyed) - {test, model, *folds} == {"stop-commands", "resumed"}
    assert "LIVE SMOKE FAILED" in told.out.partition("::endgroup::")[2]


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (("--suite", "base"), {}, "unknown suite 'base' (--suite)"),
        ((), {"STACKPROOF_LIVE_MODEL": "opnai/x"}, "provider 'opnai' is in no setup"),
        (("--setup", "gtp"), {}, "unknown setup 'gtp'"),
        (("--stack-config", "library:nope"), {}, "unknown stack 'nope'"),
        (("--max-requests", "0"), {}, "--max-requests: 0 is not a whole number of at least 1"),
        (("--provider-service", "nope"), {"STACKPROOF_LIVE_MODEL": "ollama/a"}, "unknown service 'nope'"),
        (("--", "-s"), {}, "a smoke takes secrets out of what it prints"),
    ],
)
def test_what_is_written_wrong_is_an_error_and_no_skip(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    variables: dict[str, str],
    words: str,
) -> None:
    # It comes to no process of its own.
    assert main(["smoke", *arguments], environ=environment(**variables), project=project(tmp_path)) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert not list(tmp_path.glob(".stackproof/runs/*/checks/live.json"))


def test_a_project_without_the_suite_is_told_so_in_a_sentence(tmp_path: Path) -> None:
    told = smoke(tmp_path)
    assert told.code == 2
    assert told.err.startswith("✗ this project has no suite 'live' in tests/suites.yaml")
