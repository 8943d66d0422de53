"""What a provider answers in the benchmarks, and who gives it: a loopback server, or a transport in memory."""

from __future__ import annotations

import itertools
import json
import random
from base64 import b64encode
from contextlib import AbstractContextManager
from enum import StrEnum
from struct import pack
from typing import assert_never

import httpx2
import openai

from stackproof.checks import loopback

MODEL = "benchmark"
EVENTS, FLOATS = 50, 768
TEXT = "A turn is one request and its whole answer, as a test would make it. "


class Kind(StrEnum):
    """What is asked for in a turn."""

    CHAT = "chat"
    STREAMED = "streamed"
    EMBEDDINGS = "embeddings"
    EMBEDDINGS_BASE64 = "embeddings-base64"


def vector() -> list[float]:
    """An embedding of 768 numbers, in the 16 or 17 digits that a server writes of a double."""
    chance = random.Random(FLOATS)  # noqa: S311 - numbers like any, the same each time
    return [chance.uniform(-0.1, 0.1) for _ in range(FLOATS)]


def words() -> list[str]:
    """The text of a chat answer in as many pieces as a stream of 50 events has between its first and its last."""
    pieces, text = EVENTS - 2, TEXT * 12
    edges = [len(text) * number // pieces for number in range(pieces + 1)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def chunks(kind: Kind) -> list[bytes]:
    """The body of an answer in the chunks that it is sent in: one, or one for each event of a stream."""
    match kind:
        case Kind.CHAT:
            return [_chat()]
        case Kind.STREAMED:
            return _events()
        case Kind.EMBEDDINGS:
            return [_embedding(vector())]
        case Kind.EMBEDDINGS_BASE64:
            return [_embedding(b64encode(pack(f"<{FLOATS}f", *vector())).decode())]
        case _:
            assert_never(kind)


def content_type(kind: Kind) -> str:
    """The header that goes with `chunks`."""
    return "text/event-stream" if kind is Kind.STREAMED else "application/json"


def in_memory(kind: Kind) -> httpx2.Client:
    """The floor: the SDK's own client over a transport that has the answer at hand."""
    parts, headers = chunks(kind), {"content-type": content_type(kind)}

    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=headers, content=iter(parts) if len(parts) > 1 else parts[0])

    return openai.DefaultHttpxClient(transport=httpx2.MockTransport(respond))


def server() -> AbstractContextManager[str]:
    """A provider on a free port of the loopback interface, gone at the end of the block; its base URL."""
    return loopback.provider(_answer)


def _answer(path: str, body: bytes) -> tuple[str, list[bytes]]:
    kind = _kind_of(path, json.loads(body))
    return content_type(kind), chunks(kind)


def _chat() -> bytes:
    message = {"role": "assistant", "content": TEXT * 12}
    return json.dumps(
        {
            "id": "chatcmpl-benchmark",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 180, "total_tokens": 200},
        }
    ).encode()


def _events() -> list[bytes]:
    deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in words())]
    choices: list[dict[str, object]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head = {"id": "chatcmpl-benchmark", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    return [
        *(b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n" for choice in choices),
        b"data: [DONE]\n\n",
    ]


def _embedding(value: list[float] | str) -> bytes:
    item = {"object": "embedding", "index": 0, "embedding": value}
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    return json.dumps({"object": "list", "model": MODEL, "data": [item], "usage": usage}).encode()


def _kind_of(path: str, body: dict[str, object]) -> Kind:
    if path.endswith("/embeddings"):
        return Kind.EMBEDDINGS if body.get("encoding_format") == "float" else Kind.EMBEDDINGS_BASE64
    return Kind.STREAMED if body.get("stream") else Kind.CHAT
