"""A call through aiohttp, recorded and replayed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench


aiohttp: Any = pytest.importorskip("aiohttp", reason="aiohttp is not installed")


SSE = "text/event-stream"


EVENTS = (b'data: {"n":0}\n\n', b'data: {"n":1}\n\ndata: {"n":2}\n\n', b"data: [DONE]\n\n")


def twice(bench: Bench, use: Callable[[Any], Awaitable[Any]], **session: Any) -> list[Any]:
    """What `use` gives for a session, recorded and then replayed."""

    async def main() -> Any:
        async with aiohttp.ClientSession(**session) as client:
            return await use(client)

    got = []
    for run in (bench.record, bench.replay):
        with run(record_errors=True):
            got.append(asyncio.run(main()))
    return got
