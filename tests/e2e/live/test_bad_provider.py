"""The bad provider behaves as it says: what OpenAI's SDK makes of each manner."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.e2e.live.bad_answers import MODEL
from tests.e2e.live.bad_provider import BadProvider, Manner, bad_provider

KEY = "sk-proj-made-up-for-this-test-0123"
PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(name="provider", scope="module")
def _provider() -> Iterator[BadProvider]:
    with bad_provider(seconds=0.5) as provider:
        yield provider


def client(provider: BadProvider, manner: Manner) -> openai.OpenAI:
    return openai.OpenAI(base_url=provider.url_of(manner), api_key=KEY, max_retries=0)


def chat(asking: openai.OpenAI, *, stream: bool = False) -> Any:
    messages: Any = [{"role": "user", "content": "Say a word."}]
    told = asking.chat.completions.create(model=MODEL, messages=messages, stream=stream)
    return list(told) if stream else told


@pytest.mark.parametrize(
    ("manner", "error", "said"),
    [
        (Manner.UNAUTHORIZED, openai.AuthenticationError, "sk-proj-**********************0123"),
        (Manner.UNAUTHORIZED_WHOLE, openai.AuthenticationError, KEY),
        (Manner.FORBIDDEN, openai.PermissionDeniedError, "not supported"),
        (Manner.NO_QUOTA, openai.RateLimitError, "exceeded your current quota"),
        (Manner.NO_CREDIT, openai.BadRequestError, "credit balance is too low"),
        (Manner.EXHAUSTED, openai.RateLimitError, "RESOURCE_EXHAUSTED"),
        (Manner.NO_MODEL, openai.NotFoundError, "does not exist"),
        (Manner.OVERLOADED, openai.InternalServerError, "overloaded"),
    ],
)
def test_a_refusal_is_the_sdks_own_error(
    provider: BadProvider, manner: Manner, error: type[openai.APIStatusError], said: str
) -> None:
    for stream in (False, True):
        with client(provider, manner) as asking, pytest.raises(error) as told:
            chat(asking, stream=stream)
        assert said in told.value.response.text


@pytest.mark.parametrize("manner", [Manner.NO_QUOTA, Manner.NO_CREDIT, Manner.EXHAUSTED, Manner.RATE_LIMIT])
def test_whoever_cannot_pay_is_told_of_the_models_all_the_same(provider: BadProvider, manner: Manner) -> None:
    with client(provider, manner) as asking:
        assert [model.id for model in asking.models.list()] == [MODEL]


def test_a_rate_limit_says_how_long_to_wait_and_is_over_then() -> None:
    with bad_provider(Manner.RATE_LIMIT, retry_after=2) as provider:
        with openai.OpenAI(base_url=provider.url, api_key=KEY, max_retries=0) as asking:
            with pytest.raises(openai.RateLimitError) as told:
                chat(asking)
            assert told.value.response.headers["retry-after"] == "2"
            assert chat(asking).choices[0].finish_reason == "stop"
        assert [(asked.path, asked.key) for asked in provider.asked] == [("/v1/chat/completions", KEY)] * 2


@pytest.mark.parametrize("manner", [Manner.STALL, Manner.RESET])
def test_a_stream_that_breaks_is_a_connection_error(provider: BadProvider, manner: Manner) -> None:
    with client(provider, manner) as asking, pytest.raises(openai.APIConnectionError) as told:
        chat(asking, stream=True)
    assert "reset" in str(told.value.__cause__)


def test_a_stream_that_ends_too_soon_has_no_end(provider: BadProvider) -> None:
    with client(provider, Manner.UNFINISHED) as asking:
        assert [chunk.choices[0].finish_reason for chunk in chat(asking, stream=True)] == [None] * 4
        types = [event.type for event in asking.responses.create(model=MODEL, input="Say a word.", stream=True)]
    assert types[0] == "response.created"
    assert "response.completed" not in types


def test_a_slow_answer_is_a_whole_one(provider: BadProvider) -> None:
    with client(provider, Manner.SLOW) as asking:
        assert chat(asking, stream=True)[-1].choices[0].finish_reason == "stop"


def test_a_slow_answer_is_none_for_who_does_not_wait_for_it() -> None:
    with (
        bad_provider(seconds=600) as provider,
        client(provider, Manner.SLOW) as asking,
        pytest.raises(openai.APITimeoutError),
    ):
        chat(asking.with_options(timeout=0.1))


def test_the_good_one_speaks_both_protocols_to_their_ends(provider: BadProvider) -> None:
    with client(provider, Manner.GOOD) as asking:
        assert chat(asking).choices[0].finish_reason == "stop"
        assert asking.responses.create(model=MODEL, input="Say a word.").status == "completed"
        assert len(asking.embeddings.create(model=MODEL, input=["a", "b"], encoding_format="float").data) == 2


def test_it_runs_by_itself_and_calls_itself_synthetic() -> None:
    command = [sys.executable, "-m", "tests.e2e.live.bad_provider", "--manner", "no-quota"]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
        finally:
            process.terminate()
            process.wait(60)
    assert said.startswith("a bad provider (synthetic), no-quota, at http://127.0.0.1:")
