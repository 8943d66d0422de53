"""The suite `live` against a provider that behaves badly: it fails with words that say why, and never hangs."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tests.e2e.live.bad_provider import BadProvider, Manner, bad_provider
from tests.e2e.live.suite_runs import project, ran

KEY = "sk-proj-made-up-for-this-test-0123"
CHAT = ("--file", "tests/live/test_chat.py")
PARTS = (*CHAT, "--file", "tests/live/test_responses.py", "--file", "tests/live/test_agent_runtime.py")


def failures(folder: Path, provider: BadProvider, *arguments: str) -> str:
    """What a run says that must fail."""
    variables = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": "openai/bad-1"}
    done = ran(folder, *arguments, setup="gpt", **variables)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def test_the_good_one_passes(tmp_path: Path) -> None:
    with bad_provider() as provider:
        variables = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": "openai/bad-1"}
        done = ran(project(tmp_path), setup="gpt", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed, 8 skipped" in done.stdout
    assert {asked.key for asked in provider.asked} == {KEY}


def test_a_slow_one_fails_by_the_limit_of_a_test_and_is_left(tmp_path: Path) -> None:
    with bad_provider(Manner.SLOW, seconds=600) as provider:
        began = time.monotonic()
        said = failures(project(tmp_path), provider, *CHAT, "--timeout", "2")
        took = time.monotonic() - began
    assert said.count("openai/bad-1 gave no whole answer in time: Timeout (>2.0s)") == 3
    assert took < 90  # of 600 s that one answer takes


def test_one_that_stalls_in_the_middle_fails_the_same_way(tmp_path: Path) -> None:
    with bad_provider(Manner.STALL, seconds=600) as provider:
        said = failures(project(tmp_path), provider, *CHAT, "--timeout", "2")
    assert said.count("openai/bad-1 gave no whole answer in time: Timeout (>2.0s)") == 3


def test_one_that_dies_fails_with_the_stacks_error(tmp_path: Path) -> None:
    with bad_provider(Manner.RESET) as provider:
        said = failures(project(tmp_path), provider, *PARTS)
    assert "6 failed" in said
    assert "502 - The provider 'openai' gave no answer: ReadError" in said  # in one piece
    assert 'the stream ended with {"error": {"message": "The provider \'openai\' gave no answer: ReadError"' in said
    assert "the turn failed: The model's answer broke off: ReadError" in said


def test_a_stream_without_its_last_event_is_no_answer(tmp_path: Path) -> None:
    with bad_provider(Manner.UNFINISHED) as provider:
        said = failures(project(tmp_path), provider, *PARTS, "--", "-k", "reaches_its_end or turn")
    assert "3 failed" in said
    assert 'the stream ended with {"id"' in said
    assert "the stream ended with ResponseContentPartDoneEvent" in said
    assert "the turn failed: The model's answer ended before an event said that it is whole." in said


def test_what_is_told_to_wait_asks_again_and_is_counted(tmp_path: Path) -> None:
    with bad_provider(Manner.RATE_LIMIT) as provider:
        variables = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": "openai/bad-1"}
        done = ran(project(tmp_path), *PARTS, setup="gpt", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    # Six calls, and the first of each of the two paths was refused.
    assert len(provider.asked) == 8
    assert "8 observed, 0 missed, 2 retries" in done.stdout


@pytest.mark.parametrize("manner", [Manner.UNAUTHORIZED_WHOLE, Manner.NO_QUOTA])
def test_a_refusal_is_shown_in_the_providers_words_and_without_the_key(tmp_path: Path, manner: Manner) -> None:
    with bad_provider(manner) as provider:
        said = failures(project(tmp_path), provider, *CHAT)
    words = {Manner.UNAUTHORIZED_WHOLE: "Incorrect API key provided", Manner.NO_QUOTA: "exceeded your current quota"}
    assert words[manner] in said
    assert KEY not in said
    # Nor in anything that is kept: reports, logs, what was observed.
    kept = [path for path in tmp_path.glob(".stackproof/runs/**/*") if path.is_file()]
    assert [path for path in kept if "observed" in path.parts]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]
    assert re.search(r"FAIL .*3 failed", said)
