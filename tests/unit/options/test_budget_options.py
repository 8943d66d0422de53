"""Limits of real calls: given where calls go out and are counted, and refused where nobody would keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof import catalog, plan, plan_text
from stackproof.errors import UsageError
from stackproof.options import resolve

ROOT = Path(__file__).parents[3]


def test_they_come_from_the_command_line_or_a_variable(tmp_path: Path) -> None:
    given = resolve({"inference_mode": "verify", "max_requests": 20}, {"STACKPROOF_MAX_SECONDS": "90.5"}, tmp_path)
    assert given.budget == {"max_requests": 20, "max_seconds": 90.5}


@pytest.mark.parametrize("mode", ["record", "record-if-missing", "verify"])
def test_every_mode_that_calls_out_has_them(tmp_path: Path, mode: str) -> None:
    assert resolve({"inference_mode": mode, "max_tokens": 5}, {}, tmp_path).max_tokens == 5


@pytest.mark.parametrize("source", ["command line", "variable"])
def test_a_live_run_that_could_not_keep_them_is_refused(tmp_path: Path, source: str) -> None:
    cli = {"max_requests": 5} if source == "command line" else {}
    environ = {} if cli else {"STACKPROOF_MAX_REQUESTS": "5"}
    with pytest.raises(UsageError) as caught:
        resolve({"inference_mode": "live", **cli}, environ, tmp_path)
    where = "--max-requests" if cli else "STACKPROOF_MAX_REQUESTS"
    assert caught.value.message == f"{where}: in inference mode 'live' (--inference-mode) nothing counts the calls"
    assert "verify" in (caught.value.hint or "")


def test_a_replay_is_refused_one_and_does_not_mind_the_variable_of_its_job(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--max-tokens: in inference mode 'replay' .default. no call goes out"):
        resolve({"max_tokens": 5}, {}, tmp_path)
    assert resolve({}, {"STACKPROOF_MAX_TOKENS": "5"}, tmp_path).max_tokens == 5


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("max_requests", "0", "--max-requests: 0 is not a whole number of at least 1"),
        ("max_requests", "few", "--max-requests: 'few' is not a whole number"),
        ("max_seconds", "-1", "--max-seconds: '-1' is not a positive number of seconds"),
    ],
)
def test_a_limit_is_a_positive_number(tmp_path: Path, name: str, value: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve({"inference_mode": "verify", name: value}, {}, tmp_path)
    assert caught.value.message == sentence


def test_a_file_that_everybody_shares_does_not_decide(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.stackproof]\nmax_requests = 5\n")
    with pytest.raises(UsageError, match="'max_requests' cannot be set"):
        resolve({"inference_mode": "verify"}, {}, tmp_path)


def test_the_plan_shows_them_and_the_command_that_runs_it_again_has_them() -> None:
    given = {"inference_mode": "verify", "max_requests": 20, "max_seconds": 60.0, "setup": "ollama"}
    options = resolve(given, {}, ROOT)
    planned = plan.make(options, catalog.load(ROOT), ROOT, "0a1b2c")
    assert "  budget 20 requests, 60 seconds   --max-requests, --max-seconds" in list(plan_text.lines(planned))
    assert "--max-requests 20 --max-seconds 60" in plan.again(planned.cells[0], options)
    assert "--max-requests" not in plan.command_stem(planned.cells[0], options)


def test_verify_does_not_mind_that_it_runs_under_ci(tmp_path: Path) -> None:
    assert resolve({"inference_mode": "verify"}, {"CI": "true"}, tmp_path).mode.calls_out
