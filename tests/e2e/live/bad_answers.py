"""What the bad provider says: synthetic bodies, written here after what providers document or are seen to say.

The sources of the refusals:

- OpenAI's error codes, https://platform.openai.com/docs/guides/error-codes/api-errors: 401 "Incorrect API key provided"
  (its message repeats the key's ends, with stars between), 403 "Country, region, or territory not supported",
  429 `rate_limit_exceeded`, 429 `insufficient_quota`, 503 "overloaded". The object `{"error": {message, type, param,
  code}}` is that of its API reference; a model that is not there is 404 `model_not_found`.
- Waiting after a 429: https://platform.openai.com/docs/guides/rate-limits (`retry-after`, `x-ratelimit-…`).
- Anthropic's errors, https://docs.anthropic.com/en/api/errors: `{"type": "error", "error": {…}, "request_id": …}`.
  An account without credit is told 400 `invalid_request_error` "Your credit balance is too low …", and no 402 or 429:
  so it is seen in https://github.com/anthropics/claude-code/issues/66314 and others.
- Gemini's, https://ai.google.dev/gemini-api/docs/troubleshooting: 429 `RESOURCE_EXHAUSTED` in google.rpc.Status' shape,
  with the details that https://github.com/google-gemini/gemini-cli/issues/10925 shows.

What it answers when it is good is the least that OpenAI's SDK and a check of the protocol take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MODEL = "bad-1"
TEXT = ("Syn", "the", "tic.")
REQUEST_ID = "req_synthetic"
_KEYS_PAGE = "https://platform.openai.com/account/api-keys"
_CODES_PAGE = "https://platform.openai.com/docs/guides/error-codes/api-errors"
_LIMITS_PAGE = "https://ai.google.dev/gemini-api/docs/rate-limits"
_COUNTS = {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """An answer that is no success: its status, its JSON body, and headers of its own."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


def _openai(status: int, message: str, kind: str, code: str | None, **headers: str) -> Refusal:
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refusal(status=status, body=body, headers={"x-request-id": REQUEST_ID, **named})


def unauthorized(key: str, *, whole: bool) -> Refusal:
    """OpenAI's 401, with the ends of the key; or, as gateways before it do, with all of it."""
    shown = key if whole or len(key) < 12 else f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}"
    message = f"Incorrect API key provided: {shown}. You can find your API key at {_KEYS_PAGE}."
    return _openai(401, message, "invalid_request_error", "invalid_api_key")


FORBIDDEN = _openai(
    403,
    "Country, region, or territory not supported",
    "request_forbidden",
    "unsupported_country_region_territory",
)

NO_QUOTA = _openai(
    429,
    "You exceeded your current quota, please check your plan and billing details. "
    f"For more information on this error, read the docs: {_CODES_PAGE}.",
    "insufficient_quota",
    "insufficient_quota",
)


def rate_limit(seconds: int) -> Refusal:
    """Too fast: the same request is good after so long."""
    message = (
        f"Rate limit reached for {MODEL} on requests per min (RPM): Limit 3, Used 3, Requested 1. "
        f"Please try again in {seconds}s."
    )
    limits = {"x_ratelimit_limit_requests": "3", "x_ratelimit_remaining_requests": "0"}
    return _openai(429, message, "requests", "rate_limit_exceeded", retry_after=str(seconds), **limits)


def no_model(model: str) -> Refusal:
    """A model that is not there, or not for this key."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return _openai(404, message, "invalid_request_error", "model_not_found")


OVERLOADED = _openai(
    503,
    "The server is currently overloaded with other requests. Sorry about that! You can retry your request.",
    "server_error",
    None,
)

NO_CREDIT = Refusal(
    status=400,
    body={
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "Your credit balance is too low to access the Anthropic API. "
            "Please go to Plans & Billing to upgrade or purchase credits.",
        },
        "request_id": REQUEST_ID,
    },
    headers={"request-id": REQUEST_ID},
)

EXHAUSTED = Refusal(
    status=429,
    body={
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details. "
            f"For more information on this error, head to: {_LIMITS_PAGE}.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.Help",
                    "links": [{"description": "Learn more about Gemini API quotas", "url": _LIMITS_PAGE}],
                }
            ],
        }
    },
)

NOT_FOUND = _openai(404, "The bad provider speaks nothing at this path.", "invalid_request_error", None)


def models() -> dict[str, Any]:
    """The list of models: one."""
    return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "synthetic"}]}


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same two numbers for each text."""
    texts = body["input"] if isinstance(body.get("input"), list) else [body.get("input")]
    vectors = [{"object": "embedding", "index": at, "embedding": [0.6, 0.8]} for at in range(len(texts))]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return {"object": "list", "data": vectors, "model": body.get("model"), "usage": usage}


def _called(body: Mapping[str, Any]) -> str | None:
    """The name of the first function that is offered, unless its result is there already."""
    tools = body.get("tools") or []
    turns = body.get("messages") or body.get("input") or []
    done = any(turn.get("role") == "tool" or turn.get("type") == "function_call_output" for turn in _dicts(turns))
    if not tools or done:
        return None
    return str(tools[0].get("name") or tools[0].get("function", {}).get("name"))


def _dicts(found: Any) -> list[Mapping[str, Any]]:
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def chat(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(TEXT), "refusal": None}
    name = _called(body)
    if name is not None:
        message |= {"content": None, "tool_calls": [_chat_call(name)]}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if name else "stop"}
    return {**_completion(body, "chat.completion"), "choices": [choice], "usage": _COUNTS}


def chat_stream(body: Mapping[str, Any]) -> Iterator[bytes]:
    """The same as server-sent events; the last one is the terminal one."""
    name = _called(body)
    said: list[dict[str, Any]] = [{"content": word} for word in TEXT]
    if name is not None:
        said = [{"tool_calls": [{"index": 0, **_chat_call(name)}]}]
    shown = _completion(body, "chat.completion.chunk")
    for delta in ({"role": "assistant", "content": None if name else ""}, *said):
        yield _event({**shown, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if name else "stop"}
    yield _event({**shown, "choices": [end]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event({**shown, "choices": [], "usage": _COUNTS})
    yield b"data: [DONE]\n\n"


def response(body: Mapping[str, Any]) -> dict[str, Any]:
    """A response, completed."""
    name = _called(body)
    return _response(body, "completed", [_response_call(name)] if name else [_message(done=True)])


def response_stream(body: Mapping[str, Any]) -> Iterator[bytes]:
    """The same as server-sent events; the last one is the terminal one."""
    for number, event in enumerate(_response_events(body)):
        yield f"event: {event['type']}\n".encode() + _event({**event, "sequence_number": number})


def _response_events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    name = _called(body)
    yield {"type": "response.created", "response": _response(body, "in_progress", [])}
    if name is not None:
        item = _response_call(name)
        begun = {**item, "arguments": "", "status": "in_progress"}
        place: dict[str, Any] = {"item_id": item["id"], "output_index": 0}
        yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
        yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}
    else:
        item = _message(done=True)
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        yield {"type": "response.output_item.added", "output_index": 0, "item": _message(done=False)}
        yield {"type": "response.content_part.added", **place, "part": part}
        for word in TEXT:
            yield {"type": "response.output_text.delta", **place, "delta": word}
        yield {"type": "response.output_text.done", **place, "text": "".join(TEXT)}
        yield {"type": "response.content_part.done", **place, "part": item["content"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": _response(body, "completed", [item])}


def _completion(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-synthetic", "object": kind, "created": 0, "model": body.get("model")}


def _chat_call(name: str) -> dict[str, Any]:
    return {"id": "call_synthetic", "type": "function", "function": {"name": name, "arguments": '{"city": "Paris"}'}}


def _response_call(name: str) -> dict[str, Any]:
    ids = {"id": "fc_synthetic", "call_id": "call_synthetic"}
    return {"type": "function_call", **ids, "name": name, "arguments": '{"city": "Paris"}', "status": "completed"}


def _message(*, done: bool) -> dict[str, Any]:
    part = {"type": "output_text", "text": "".join(TEXT), "annotations": []}
    told = {"type": "message", "id": "msg_synthetic", "role": "assistant"}
    return {**told, "status": "completed" if done else "in_progress", "content": [part] if done else []}


def _response(body: Mapping[str, Any], status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 3, "total_tokens": 6}
    told = {"id": "resp_synthetic", "object": "response", "created_at": 0, "status": status, "error": None}
    more: dict[str, Any] = {"incomplete_details": None, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    ended = usage if status == "completed" else None
    return {**told, **more, "model": body.get("model"), "output": output, "usage": ended}


def _event(told: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(told).encode() + b"\n\n"
