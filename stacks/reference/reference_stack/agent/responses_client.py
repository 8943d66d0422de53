"""A model behind OpenAI's Responses API, asked through the SDK's HTTP client and read strictly."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import httpx2
import openai

from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.failures import (
    DamagedStreamError,
    ModelStatusError,
    ModelUnreachableError,
    UnfinishedStreamError,
)
from reference_stack.agent.model import ModelEvent, ModelRequest, ToolSpec
from reference_stack.agent.responses_wire import Answer
from reference_stack.agent.sse import ServerEvents
from reference_stack.strict_json import read_json


class ResponsesClient:
    """A `ModelClient`. The SDK knows address, key and timeouts, and makes the request; it does not try again.

    With `streamed` false the answer is asked for in one piece, for a caller who gets it in one piece: the same events.
    """

    def __init__(self, client: openai.AsyncOpenAI, *, provider: str, streamed: bool = True) -> None:
        self._client = client.with_options(max_retries=0)
        self._provider = provider
        self._streamed = streamed

    async def stream(self, request: ModelRequest, cancel: CancelToken) -> AsyncIterator[ModelEvent]:
        """The answer's events. Raises as `ModelClient` says."""
        cancel.check()
        try:
            async with self._client.responses.with_streaming_response.create(**self._asked(request)) as answer:
                read = self._events if self._streamed else self._whole
                async with aclosing(read(answer.http_response)) as events:
                    async for event in events:
                        cancel.check()
                        yield event
        except openai.APIStatusError as error:
            raise await _refused(self._provider, error.response) from error
        except openai.APIConnectionError as error:
            raise ModelUnreachableError(f"The provider {self._provider!r} gave no answer: {_reason(error)}") from error

    def _asked(self, request: ModelRequest) -> dict[str, Any]:
        """Arguments for the SDK's method, which sends what is in `extra_body` as it is."""
        body: dict[str, Any] = {**request.options, "input": [dict(item) for item in request.history]}
        if request.instructions is not None:
            body["instructions"] = request.instructions
        if request.tools:
            body["tools"] = [_told(spec) for spec in request.tools]
        return {"model": request.model, **({"stream": True} if self._streamed else {}), "extra_body": body}

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[ModelEvent]:
        kind = response.headers.get("content-type", "")
        if not kind.startswith("text/event-stream"):
            raise DamagedStreamError(f"The model's answer should be a stream of events, and is {kind or 'of no type'}.")
        answer, events = Answer(), ServerEvents()
        try:
            async for piece in response.aiter_bytes():
                for event in events.feed(piece):
                    for told in answer.event(event):
                        yield told
        except httpx2.HTTPError as error:
            # Lost after its last event, an answer is whole all the same.
            if not answer.whole:
                raise UnfinishedStreamError(f"The model's answer broke off: {_reason(error)}") from error
        if events.unfinished:
            raise UnfinishedStreamError("The model's answer ended in the middle of an event.")
        yield answer.end()

    async def _whole(self, response: httpx2.Response) -> AsyncGenerator[ModelEvent]:
        try:
            content = await response.aread()
        except httpx2.HTTPError as error:
            raise UnfinishedStreamError(f"The model's answer broke off: {_reason(error)}") from error
        try:
            value = read_json(content)
        except ValueError as error:
            raise DamagedStreamError(f"The model's answer is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise DamagedStreamError("The model's answer is no JSON object.")
        for event in Answer().response(value):
            yield event


def _told(spec: ToolSpec) -> Mapping[str, Any]:
    if spec.wire is not None:
        return spec.wire
    told = {"type": "function", "name": spec.name, "description": spec.description}
    return {**told, "parameters": dict(spec.parameters), "strict": False}


async def _refused(provider: str, response: httpx2.Response) -> ModelStatusError:
    try:
        content = await response.aread()
    except httpx2.HTTPError:
        content = b""
    try:
        body: object = read_json(content)
    except ValueError:
        body = content.decode("utf-8", "replace")
    text = f"The provider {provider!r} answered with status {response.status_code}: {_message(body)}"
    return ModelStatusError(text, status=response.status_code, body=body)


def _message(body: object) -> str:
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    found = inner.get("message") if isinstance(inner, Mapping) else inner
    return str(found or "it does not say why")[:2000]


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"
