"""The tokens that an answer says it has used, in each wire that the recorder knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof.recorder.normalise import Ids
from stackproof.recorder.take import Take
from stackproof.recorder.usage import Tokens, Usage


def tokens(*values: Any) -> tuple[int, int] | None:
    """Of an answer that consists of these JSON values."""
    usage = Usage()
    for value in values:
        usage.see(value)
    return None if usage.tokens is None else (usage.tokens.input, usage.tokens.output)


@pytest.mark.parametrize(
    ("body", "used"),
    [
        pytest.param(
            {"object": "chat.completion", "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}},
            (9, 12),
            id="openai chat",
        ),
        pytest.param({"object": "text_completion", "usage": {"prompt_tokens": 5, "completion_tokens": 7}}, (5, 7)),
        pytest.param({"object": "list", "data": [], "usage": {"prompt_tokens": 8, "total_tokens": 8}}, (8, 0)),
        pytest.param(
            {"object": "response", "usage": {"input_tokens": 36, "output_tokens": 87, "total_tokens": 123}},
            (36, 87),
            id="openai responses",
        ),
        pytest.param(
            {
                "type": "message",
                "usage": {
                    "input_tokens": 10,
                    "cache_creation_input_tokens": 100,
                    "cache_read_input_tokens": 1000,
                    "output_tokens": 5,
                },
            },
            (1110, 5),
            id="anthropic counts what it caches beside the input",
        ),
        pytest.param(
            {
                "candidates": [],
                "usageMetadata": {
                    "promptTokenCount": 4,
                    "candidatesTokenCount": 6,
                    "thoughtsTokenCount": 90,
                    "totalTokenCount": 100,
                },
            },
            (4, 96),
            id="gemini",
        ),
        pytest.param({"model": "m", "done": True, "prompt_eval_count": 26, "eval_count": 298}, (26, 298), id="ollama"),
        pytest.param({"model": "m", "embeddings": [], "prompt_eval_count": 8}, (8, 0), id="ollama embed"),
        pytest.param(
            {
                "id": "x",
                "usage": {
                    "billed_units": {"input_tokens": 3, "output_tokens": 7},
                    "tokens": {"input_tokens": 70, "output_tokens": 9},
                },
            },
            (70, 9),
            id="cohere chat",
        ),
        pytest.param({"embeddings": {}, "meta": {"billed_units": {"input_tokens": 11}}}, (11, 0), id="cohere embed"),
        pytest.param({"results": [], "meta": {"billed_units": {"search_units": 1}}}, None, id="cohere rerank"),
        pytest.param({"results": [], "usage": {"total_tokens": 815}}, (815, 0), id="jina and voyage rerank"),
        pytest.param({"output": {}, "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}}, (1, 2)),
        pytest.param({"embedding": [], "inputTextTokenCount": 6}, (6, 0), id="titan embed"),
        pytest.param({"query": "q", "results": []}, None, id="tavily"),
        pytest.param({"error": {"message": "no"}}, None),
        pytest.param({"usage": None}, None),
        pytest.param({"usage": {"prompt_tokens": "many", "completion_tokens": True, "total_tokens": -1}}, None),
        pytest.param([], None),
        pytest.param("text", None),
    ],
)
def test_of_a_whole_answer(body: Any, used: tuple[int, int] | None) -> None:
    assert tokens(body) == used


@pytest.mark.parametrize(
    ("events", "used"),
    [
        pytest.param(
            [
                {"object": "chat.completion.chunk", "choices": [{}], "usage": None},
                {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 12}},
            ],
            (9, 12),
            id="openai chat",
        ),
        pytest.param([{"object": "chat.completion.chunk", "choices": [{}]}], None, id="without include_usage"),
        pytest.param(
            [{"choices": [{}], "x_groq": {"id": "r", "usage": {"prompt_tokens": 1, "completion_tokens": 2}}}], (1, 2)
        ),
        pytest.param(
            [
                {"type": "response.created", "response": {"usage": None}},
                {"type": "response.completed", "response": {"usage": {"input_tokens": 37, "output_tokens": 11}}},
            ],
            (37, 11),
            id="openai responses",
        ),
        pytest.param(
            [
                {"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1}}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
                {"type": "message_stop"},
            ],
            (25, 15),
            id="anthropic",
        ),
        pytest.param(
            [
                {"usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4}},
                {"usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 6}},
                {"usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 9, "totalTokenCount": 13}},
            ],
            (4, 9),
            id="gemini counts up",
        ),
        pytest.param(
            [{"model": "m", "done": False}, {"model": "m", "done": True, "prompt_eval_count": 2, "eval_count": 3}],
            (2, 3),
            id="ollama",
        ),
        pytest.param(
            [
                {"type": "message-start", "delta": {"message": {"role": "assistant"}}},
                {"type": "message-end", "delta": {"usage": {"tokens": {"input_tokens": 4, "output_tokens": 5}}}},
            ],
            (4, 5),
            id="cohere",
        ),
        pytest.param(
            [{"event_type": "interaction.completed", "interaction": {"usage": {
                "total_input_tokens": 7, "total_output_tokens": 20, "total_thought_tokens": 22, "total_tokens": 49}}}],
            (7, 42),
            id="gemini interactions",
        ),
    ],
)  # fmt: skip
def test_of_a_stream_the_last_word_counts(events: list[Any], used: tuple[int, int] | None) -> None:
    assert tokens(*events) == used


def test_a_stream_of_google_without_events_is_one_list() -> None:
    assert tokens([{"usageMetadata": {"promptTokenCount": 4}}, {"usageMetadata": {"candidatesTokenCount": 2}}]) == (
        4,
        2,
    )


def test_what_is_normalised_is_counted_before_it() -> None:
    said = {"type": "message", "role": "assistant", "usage": {"input_tokens": 1, "cache_read_input_tokens": 2000}}
    ended: list[Any] = []
    take = Take(Ids("0" * 64, 1), ended.append)
    take.start(200, {"content-type": "application/json"}, {})
    take.feed(json.dumps(said).encode())
    take.end()
    assert ended[0]["body"]["json"]["usage"]["cache_read_input_tokens"] == 0
    assert take.usage.tokens == Tokens(input=2001, output=0)


def test_it_is_known_before_the_caller_has_the_last_event() -> None:
    take = Take(Ids("0" * 64, 1), lambda _: None)
    take.start(200, {"content-type": "text/event-stream"}, {})
    take.feed(b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n')
    assert take.usage.tokens == Tokens(input=1, output=2)
