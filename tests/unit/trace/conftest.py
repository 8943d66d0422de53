"""A model client that says what it is told to, and short words for sending it a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackproof.trace import (
    Cancellation,
    CancelToken,
    Completed,
    ModelClient,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
)

ANSWER: tuple[ModelEvent, ...] = (
    TextDelta(text="It "),
    TextDelta(text="rains."),
    ToolCall(call_id="call_1", name="weather", arguments='{"city":"Oslo"}'),
    Completed(response_id="resp_1", usage={"output_tokens": 3}),
)


@dataclass(kw_only=True)
class Scripted:
    """Streams `answers` one after the other; an exception among the events is raised in its place."""

    answers: Sequence[Sequence[ModelEvent | BaseException]] = (ANSWER,)
    asked: list[ModelRequest] = field(default_factory=list)
    closed: int = 0

    async def stream(self, request: ModelRequest, cancel: Cancellation) -> AsyncIterator[ModelEvent]:
        answer = self.answers[len(self.asked) % len(self.answers)]
        self.asked.append(request)
        try:
            for event in answer:
                await asyncio.sleep(0)
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self.closed += 1


@dataclass(frozen=True, kw_only=True)
class Talk:
    """Sends requests: `say` gives the events that arrived; an error of the client is raised."""

    def request(self, *said: str, **more: Any) -> ModelRequest:
        history = tuple({"role": "user", "content": text} for text in said)
        values = {"instructions": "Be brief.", "step_sequence": len(said) - 1, "model": "small", **more}
        return ModelRequest(history=history, **values)

    def say(
        self,
        client: ModelClient,
        *said: str,
        leave_after: int | None = None,
        cancel_after: int | None = None,
        into: list[ModelEvent] | None = None,
        **more: Any,
    ) -> list[ModelEvent]:
        """leave_after, cancel_after: how many events are taken before that happens. into: gets them as they come."""
        got: list[ModelEvent] = [] if into is None else into
        cancel = CancelToken()
        if cancel_after == 0:
            cancel.cancel("enough")

        async def listen() -> None:
            stream = client.stream(self.request(*said, **more), cancel)
            async with aclosing(stream):  # type: ignore[type-var]
                async for event in stream:
                    got.append(event)
                    if len(got) == leave_after:
                        return
                    if len(got) == cancel_after:
                        cancel.cancel("enough")

        asyncio.run(listen())
        return got


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture(params=["talk.jsonl", "talk.jsonl.zst"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A trace that is not there yet, plain and compressed."""
    return tmp_path / str(request.param)


@pytest.fixture
def text_of() -> Callable[[Path], str]:
    """The content of a trace, decompressed by other code than ours."""

    def read(path: Path) -> str:
        raw = path.read_bytes()
        if path.suffix == ".zst":
            import io

            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw), read_across_frames=True) as reader:
                raw = reader.read()
        return raw.decode("utf-8")

    return read
