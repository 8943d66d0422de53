"""A provider on loopback that speaks OpenAI's Responses API, and breaks where it is told to."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

import httpx2
import openai

from reference_stack.agent.responses_client import ResponsesClient

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # is not used, and reading certificates takes its time
DELTAS = ("Let me ", "look.")


class End(Enum):
    """What comes after the last piece."""

    WHOLE = "whole"  # the end of the body, as HTTP has it
    LOST = "lost"  # the connection is reset
    STALLED = "stalled"  # nothing, for as long as the other side waits


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer on the wire: its pieces, each a chunk of the body."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    end: End = End.WHOLE


class Provider:
    """Answers requests one after the other. `asked`: their bodies; `busy`: answers that are still being given."""

    TASK = "provider"

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.busy = 0
        self._answers = list(answers)
        self._idle = asyncio.Event()
        self._idle.set()

    async def settled(self, seconds: float = 1.0) -> int:
        """How many answers are still being given after so long; earlier when none is."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
        return self.busy

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        if (task := asyncio.current_task()) is not None:
            task.set_name(self.TASK)
        try:
            while True:
                self.asked.append(json.loads(await _request(reader)))
                # Whoever asks more often than there are answers is not kept waiting.
                if not self._answers or not await self._give(self._answers.pop(0), reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _give(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.busy += 1
        self._idle.clear()
        try:
            return await _answer(answer, reader, writer)
        finally:
            self.busy -= 1
            if not self.busy:
                self._idle.set()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return await reader.readexactly(int(length.split(b":")[1]))


async def _answer(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether another request may follow on this connection."""
    head = f"HTTP/1.1 {answer.status} X\r\ncontent-type: {answer.content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    for piece in answer.pieces:
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
        # Each piece is a packet of its own, as from a model that is still thinking.
        await asyncio.sleep(0)
    match answer.end:
        case End.WHOLE:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        case End.LOST:
            await asyncio.sleep(0.005)  # what was written goes out first
        case End.STALLED:
            await reader.read()
    return answer.end is End.WHOLE


@asynccontextmanager
async def provided(*answers: Answer, patience: float = 5) -> AsyncIterator[tuple[Provider, ResponsesClient]]:
    """A provider with these answers, and the runtime's client for it, which waits `patience` seconds for a byte."""
    provider = Provider(answers)
    server = await asyncio.start_server(provider.handle, "127.0.0.1", 0)
    try:
        async with client_at(server.sockets[0].getsockname()[1], patience=patience) as client:
            yield provider, client
    finally:
        server.close()
        await provider.settled()


@asynccontextmanager
async def client_at(port: int, *, patience: float = 5) -> AsyncIterator[ResponsesClient]:
    """The runtime's client for a provider at this port of loopback."""
    # Nothing of this machine's own settings (proxies) has a part in it.
    http_client = httpx2.AsyncClient(trust_env=False, timeout=patience, verify=_NO_TLS)
    async with openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="none", http_client=http_client
    ) as client:
        yield ResponsesClient(client, provider="loopback")


def event(told: Mapping[str, Any]) -> bytes:
    """An event as it is on the wire."""
    return f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()


def response(status: str, **fields: object) -> dict[str, object]:
    """The response that an event speaks of."""
    return {"id": "resp_1", "object": "response", "status": status, **fields}


MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "".join(DELTAS), "annotations": []}],
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city": "Rome"}',
    "status": "completed",
}


def answered(*items: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of an answer that is made of these items."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": response("in_progress")}]
    for item in items:
        events.append({"type": "response.output_item.added", "item": {**item, "status": "in_progress"}})
        if item["type"] == "message":
            events += [{"type": "response.output_text.delta", "delta": text} for text in DELTAS]
        events.append({"type": "response.output_item.done", "item": dict(item)})
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    events.append({"type": "response.completed", "response": response("completed", output=list(items), usage=usage)})
    return events


def on_the_wire(events: Sequence[Mapping[str, Any]]) -> tuple[bytes, ...]:
    """Each event a piece."""
    return tuple(event(told) for told in events)
