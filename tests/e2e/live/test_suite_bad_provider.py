"""The suite `live` against a provider that behaves badly: it fails with words that say why, and never hangs.

Each run takes several seconds to begin, so those that want the same options share one, with a model for each manner.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.live.bad_provider import Asked, Manner, bad_provider
from tests.e2e.live.suite_runs import project, ran

KEY = "sk-proj-made-up-for-this-test-0123"
CHAT = ("--file", "tests/live/test_chat.py")
PARTS = (*CHAT, "--file", "tests/live/test_responses.py", "--file", "tests/live/test_agent_runtime.py")
# What each manner is asked for: all of it, the ends of streams, or chat alone.
ASKED = "bad-reset or (bad-unfinished and (reaches_its_end or turn)) or (test_chat and (bad-unauth or bad-no-quota))"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A run that has ended. seconds: how long it took."""

    code: int
    said: str
    asked: Sequence[Asked]
    folder: Path
    seconds: float


def run(folder: Path, *arguments: str, manners: Sequence[Manner]) -> Ended:
    """A run with a model for each manner."""
    models = ",".join(f"openai/bad-{manner.value}" for manner in manners)
    with bad_provider(seconds=600) as provider:
        variables = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": KEY, "STACKPROOF_LIVE_MODEL": models}
        began = time.monotonic()
        done = ran(project(folder), *arguments, setup="gpt", **variables)
        took = time.monotonic() - began
    assert "Traceback" not in done.stdout + done.stderr
    said = done.stdout + done.stderr
    return Ended(code=done.returncode, said=said, asked=provider.asked, folder=folder, seconds=took)


@pytest.fixture(name="sound", scope="module")
def _sound(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return run(tmp_path_factory.mktemp("sound"), manners=[Manner.GOOD, Manner.RATE_LIMIT])


@pytest.fixture(name="late", scope="module")
def _late(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    # The limit is for tests by themselves: how long the first of them makes the stack depends on the machine.
    limit = ("--timeout", "2", "--", "-o", "timeout_func_only=true")
    return run(tmp_path_factory.mktemp("late"), *CHAT, *limit, manners=[Manner.SLOW, Manner.STALL])


@pytest.fixture(name="broken", scope="module")
def _broken(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    manners = [Manner.RESET, Manner.UNFINISHED, Manner.UNAUTHORIZED_WHOLE, Manner.NO_QUOTA]
    return run(tmp_path_factory.mktemp("broken"), *PARTS, "--", "-k", ASKED, manners=manners)


def test_the_good_one_passes(sound: Ended) -> None:
    assert sound.code == 0, sound.said
    assert "14 passed, 16 skipped" in sound.said  # of two models
    assert {asked.key for asked in sound.asked} == {KEY}


def test_what_is_told_to_wait_asks_again_and_is_counted(sound: Ended) -> None:
    assert sound.code == 0, sound.said
    # Six calls, and the first of each of the two paths was refused.
    assert len([asked for asked in sound.asked if asked.manner is Manner.RATE_LIMIT]) == 8
    assert f"{len(sound.asked)} observed, 0 missed, 2 retries" in sound.said


@pytest.mark.parametrize("manner", [Manner.SLOW, Manner.STALL])
def test_one_that_is_slow_or_stalls_fails_by_the_limit_of_a_test_and_is_left(late: Ended, manner: Manner) -> None:
    assert late.code == 1, late.said
    assert late.said.count(f"openai/bad-{manner.value} gave no whole answer in time: Timeout (>2.0s)") == 3
    assert late.seconds < 600  # which one answer takes


def test_one_that_dies_fails_with_the_stacks_error(broken: Ended) -> None:
    assert broken.code == 1, broken.said
    assert re.search(r"FAIL .*15 failed", broken.said)  # 6, 3, 3 and 3
    assert "502 - The provider 'openai' gave no answer: ReadError" in broken.said  # in one piece
    assert (
        'the stream ended with {"error": {"message": "The provider \'openai\' gave no answer: ReadError"' in broken.said
    )
    assert "the turn failed: The model's answer broke off: ReadError" in broken.said


def test_a_stream_without_its_last_event_is_no_answer(broken: Ended) -> None:
    assert 'the stream ended with {"id"' in broken.said
    assert "the stream ended with ResponseContentPartDoneEvent" in broken.said
    assert "the turn failed: The model's answer ended before an event said that it is whole." in broken.said


@pytest.mark.parametrize("words", ["Incorrect API key provided", "exceeded your current quota"])
def test_a_refusal_is_shown_in_the_providers_words_and_without_the_key(broken: Ended, words: str) -> None:
    assert words in broken.said
    assert KEY not in broken.said
    # Nor in anything that is kept: reports, logs, what was observed.
    kept = [path for path in broken.folder.glob(".stackproof/runs/**/*") if path.is_file()]
    assert [path for path in kept if "observed" in path.parts]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]
