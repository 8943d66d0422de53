"""Chat completions through google-genai: a request and its answer, translated from OpenAI's shape and back."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx2
from google.genai import errors
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reference_stack.answers import Dialect, NoAnswerError, RefusedError, error_event, no_answer, told_by
from reference_stack.asked import late_of
from reference_stack.gemini_request import arguments
from reference_stack.ids import Kind, new_id
from reference_stack.providers import Provider
from reference_stack.relay import Streamed, while_client_waits

# The SDK goes through aiohttp where that is installed, else through httpx2.
_NO_ANSWER = (aiohttp.ClientError, httpx2.HTTPError, TimeoutError, OSError)
_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": "stop"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What all pieces of one answer share, and the ids of the calls that were made in it."""

    model: str
    kind: str
    id: str = field(default_factory=lambda: new_id(Kind.COMPLETION))
    created: int = field(default_factory=lambda: int(time.time()))

    def shown(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, Any]:
        """It, with these choices."""
        told = {"id": self.id, "object": self.kind, "created": self.created, "model": self.model, "choices": choices}
        return told if usage is None else {**told, "usage": usage}


async def chat(request: Request, body: dict[str, Any], provider: Provider, model: str) -> Response:
    """Answer a chat completion. RefusedError, AnsweredError, NoAnswerError."""
    told = arguments(body, model)
    models = (await late_of(request).gemini(provider)).aio.models
    try:
        if body.get("stream") is not True:
            answer = await while_client_waits(request, models.generate_content(**told))
            whole = Completion(model=body["model"], kind="chat.completion")
            choices = [_choice(one, "message") for one in answer.candidates or []]
            return JSONResponse(whole.shown(choices, _usage(answer)))
        async with AsyncExitStack() as stack:
            opened: Any = await while_client_waits(request, models.generate_content_stream(**told))
            answers = await stack.enter_async_context(aclosing(opened))
            # An error that comes in place of an answer has a status of its own.
            first = await while_client_waits(request, anext(answers, None))
            pieces = _pieces(first, answers, body, provider)
            return Streamed(pieces, upstream=stack.pop_all(), media_type="text/event-stream")
    except errors.APIError as error:
        raise told_by(provider.name, error.code, error.details) from error
    except (ValidationError, ValueError) as error:
        raise RefusedError(400, f"Gemini's API cannot be asked this: {error}") from error
    except _NO_ANSWER as error:
        raise NoAnswerError(timed_out=isinstance(error, TimeoutError)) from error


async def _pieces(first: Any, answers: Any, body: dict[str, Any], provider: Provider) -> AsyncIterator[bytes]:
    completion = Completion(model=body["model"], kind="chat.completion.chunk")
    usage, begun, calls = None, False, 0
    try:
        answer = first
        while answer is not None:
            choices = [_choice(one, "delta", calls=calls) for one in answer.candidates or []]
            for choice in choices:
                calls += len(choice["delta"].get("tool_calls", ()))
                if calls and choice["finish_reason"] == "stop":
                    choice["finish_reason"] = "tool_calls"
                if begun:
                    del choice["delta"]["role"]
            begun = begun or bool(choices)
            usage = _usage(answer) or usage
            if choices:
                yield _event(completion.shown(choices))
            answer = await anext(answers, None)
        if (body.get("stream_options") or {}).get("include_usage"):
            yield _event(completion.shown([], usage))
        yield b"data: [DONE]\n\n"
    except errors.APIError as error:
        yield error_event(Dialect.OPENAI, f"The provider {provider.name!r} answered: {error.message}")
    except (*_NO_ANSWER, ValueError) as error:
        yield error_event(Dialect.OPENAI, no_answer(provider.name, error))


def _event(told: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def _choice(candidate: Any, place: str, *, calls: int = 0) -> dict[str, Any]:
    """A candidate as a choice; `calls` have been made before in a stream."""
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    made = [part.function_call for part in parts if part.function_call]
    said: dict[str, Any] = {"role": "assistant", "content": text or (None if made else "")}
    if made:
        said["tool_calls"] = [
            {
                "id": call.id or new_id(Kind.TOOL_CALL),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.args or {})},
                **({"index": calls + at} if place == "delta" else {}),
            }
            for at, call in enumerate(made)
        ]
    reason = candidate.finish_reason
    ended = None if reason is None else _REASONS.get(reason.value, "content_filter")
    if made and ended == "stop":
        ended = "tool_calls"
    return {"index": candidate.index or 0, place: said, "finish_reason": ended, "logprobs": None}


def _usage(answer: Any) -> dict[str, int] | None:
    counted = answer.usage_metadata
    if counted is None:
        return None
    thought = counted.thoughts_token_count or 0
    return {
        "prompt_tokens": counted.prompt_token_count or 0,
        "completion_tokens": (counted.candidates_token_count or 0) + thought,
        "total_tokens": counted.total_token_count or 0,
    }
