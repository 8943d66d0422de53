"""The HTTP libraries by themselves: JSON at once, and a stream of ten chunks read in the ways that each one offers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .clients import BODY, STREAMED, Client, Events, awaited

_CHAT, _TEN = "/chat/completions", "/ten"


def _load(name: str) -> Any:
    return importlib.import_module(name)


def _told(status: int, headers: Any, body: Any) -> Any:
    """What every caller can see; a refusal is no exception here."""
    return {
        "status": status,
        "retry-after": headers.get("retry-after"),
        "kind": headers.get("content-type"),
        "body": body,
    }


def _httpx(library: str, reading: str, *, raw: bool = False) -> Client:
    def plain(url: str) -> Any:
        with _load(library).Client(trust_env=False) as client:
            if not raw:
                response = client.post(url + _CHAT, json=BODY)
                return _told(response.status_code, response.headers, response.json())
            with client.stream("POST", url + _CHAT, json=BODY) as response:
                return _told(response.status_code, response.headers, b"".join(response.iter_raw()).decode())

    def stream(url: str, events: Events) -> None:
        with (
            _load(library).Client(trust_env=False) as client,
            client.stream("POST", url + _TEN, json=STREAMED) as response,
        ):
            events.take(getattr(response, reading)())

    return Client(name=f"{library}, {reading}", through=library, plain=plain, stream=stream, raw=raw)


def _httpx_async(library: str, reading: str, *, raw: bool = False) -> Client:
    async def plain(url: str) -> Any:
        async with _load(library).AsyncClient(trust_env=False) as client:
            if not raw:
                response = await client.post(url + _CHAT, json=BODY)
                return _told(response.status_code, response.headers, response.json())
            async with client.stream("POST", url + _CHAT, json=BODY) as response:
                pieces = [piece async for piece in response.aiter_raw()]
                return _told(response.status_code, response.headers, b"".join(pieces).decode())

    async def stream(url: str, events: Events) -> None:
        async with (
            _load(library).AsyncClient(trust_env=False) as client,
            client.stream("POST", url + _TEN, json=STREAMED) as response,
        ):
            await events.atake(getattr(response, reading)())

    return awaited(f"{library}, {reading}", library, plain, stream, raw=raw)


def _aiohttp(reading: str, read: Callable[[Any], Any], *, raw: bool = False) -> Client:
    async def plain(url: str) -> Any:
        async with _load("aiohttp").ClientSession() as session, session.post(url + _CHAT, json=BODY) as response:
            return _told(response.status, response.headers, await response.json())

    async def stream(url: str, events: Events) -> None:
        async with _load("aiohttp").ClientSession() as session, session.post(url + _TEN, json=STREAMED) as response:
            await events.atake(read(response.content))

    return awaited(f"aiohttp, {reading}", "aiohttp", plain, stream, raw=raw)


async def _lines(content: Any) -> Any:
    while line := await content.readline():
        yield line


def _requests(reading: str, read: Callable[[Any], Any], *, raw: bool = False) -> Client:
    def plain(url: str) -> Any:
        with _load("requests").Session() as session:
            session.trust_env = False
            response = session.post(url + _CHAT, json=BODY)
            return _told(response.status_code, response.headers, response.json())

    def stream(url: str, events: Events) -> None:
        with _load("requests").Session() as session:
            session.trust_env = False
            with session.post(url + _TEN, json=STREAMED, stream=True) as response:
                events.take(read(response))

    return Client(name=f"requests, {reading}", through="requests", plain=plain, stream=stream, raw=raw)


def _urllib3(reading: str, read: Callable[[Any], Any]) -> Client:
    def plain(url: str) -> Any:
        with _load("urllib3").PoolManager() as pool:
            response = pool.request("POST", url + _CHAT, json=BODY, retries=False)
            return _told(response.status, response.headers, response.json())

    def stream(url: str, events: Events) -> None:
        with _load("urllib3").PoolManager() as pool:
            response = pool.request("POST", url + _TEN, json=STREAMED, retries=False, preload_content=False)
            events.take(read(response))
            response.release_conn()

    return Client(name=f"urllib3, {reading}", through="urllib3", plain=plain, stream=stream, raw=True)


HTTP = (
    _httpx("httpx", "iter_lines"),
    _httpx("httpx", "iter_raw", raw=True),
    _httpx_async("httpx", "aiter_lines"),
    _httpx_async("httpx", "aiter_raw", raw=True),
    _httpx("httpx2", "iter_lines"),
    _httpx("httpx2", "iter_raw", raw=True),
    _httpx_async("httpx2", "aiter_lines"),
    _httpx_async("httpx2", "aiter_raw", raw=True),
    _aiohttp("iter_any", lambda content: content.iter_any(), raw=True),
    _aiohttp("readline", _lines),
    _requests("iter_content", lambda response: response.iter_content(None), raw=True),
    _requests("iter_lines", lambda response: response.iter_lines()),
    _urllib3("stream", lambda response: response.stream()),
    _urllib3("read1", lambda response: iter(response.read1, b"")),
)
