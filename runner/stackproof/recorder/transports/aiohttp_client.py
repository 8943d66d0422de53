"""aiohttp: a client middleware below all others, one question for each attempt and each redirect.

Middlewares came with aiohttp 3.12. Ours is handed to the session's own `_request`, so redirects, retries of broken
connections, cookies, tracing and `raise_for_status` run as always. Servers (`aiohttp.web`) are not touched.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import io
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from http.cookies import SimpleCookie
from types import ModuleType
from typing import Any

from .. import announce, encodings
from ..brain import Brain
from ..decision import Answer, Later, PassThrough, Record
from ..interaction import Request
from ..patching import MARK, require_own, require_version
from ..redact import RESPONSE_HEADERS
from . import backoff
from .aiohttp_failures import Failures
from .aiohttp_patience import Patience, patience_of
from .aiohttp_stream import make_readers

LOWEST = (3, 12)
_POLL = 0.02
# Only what the standard library can undo, and what no installed package changes the meaning of.
_ENCODINGS = "gzip, deflate"
# What aiohttp itself undoes, where the session does not say otherwise, or else fails on.
_UNDONE_BY_AIOHTTP = ("gzip", "deflate", "br", "zstd")
_REDIRECTS = (301, 302, 303, 307, 308)
_Handler = Callable[[Any], Awaitable[Any]]


def install(module: ModuleType, active: Callable[[], Brain | None]) -> Callable[[], None]:
    """Put the interception into `aiohttp`; returns the undo. Asks `active()` on each call.

    UnsupportedVersionError and ForeignPatchError say why not.
    """
    require_version(module, LOWEST)
    session_class = module.ClientSession
    request = session_class._request
    require_own(request, "aiohttp's ClientSession._request", "aiohttp")
    if hasattr(request, MARK):  # ours, put back by a tool that had wrapped it: it is in force again
        return _nothing
    wire = _Wire(module)

    @functools.wraps(request)
    async def _request(self: Any, method: str, str_or_url: Any, **options: Any) -> Any:
        if active() is None:
            return await request(self, method, str_or_url, **options)
        chosen = options.pop("middlewares", None)
        outer = self._middlewares if chosen is None else chosen
        undoes = options.get("auto_decompress")
        undoes = self._auto_decompress if undoes is None else undoes
        limit = options.get("read_bufsize") or self._read_bufsize
        patience = functools.partial(
            patience_of, module, self, options.get("timeout", module.helpers.sentinel), time.monotonic()
        )

        async def innermost(asked: Any, handler: _Handler) -> Any:
            brain = active()
            if brain is None:
                return await handler(asked)
            return await wire.decide(brain, asked, handler, undoes=undoes, limit=limit, patience=patience)

        return await request(self, method, str_or_url, middlewares=(*outer, innermost), **options)

    setattr(_request, MARK, True)
    session_class._request = _request

    def undo() -> None:
        # What another tool has put around ours since then is not ours to remove: through it, ours lets all calls pass.
        if session_class._request is _request:
            session_class._request = request

    return undo


def _nothing() -> None:
    """The undo of an installation that changed nothing."""


class _Sent:
    """Where a response looks for the number of bytes that its request sent."""

    output_size = 0


class _Wire:
    """Carries out decisions with aiohttp's classes."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._failures = Failures(module)
        self._replayed, self._teed = make_readers(module, self._failures)
        self._multidict: Any = importlib.import_module("multidict")
        self._timer: Any = importlib.import_module("aiohttp.helpers").TimerNoop
        self._payload: Any = importlib.import_module("aiohttp.payload").BytesIOPayload
        self._url: Any = importlib.import_module("yarl").URL

    async def decide(
        self,
        brain: Brain,
        asked: Any,
        handler: _Handler,
        *,
        undoes: bool,
        limit: int,
        patience: Callable[[], Patience],
    ) -> Any:
        """Ask, and do as told. `undoes`: aiohttp decompresses; `limit`: the size of read buffers."""
        is_provider = brain.providers.match(str(asked.url)) is not None
        if is_provider and asked.headers.get("Upgrade", "").lower() == "websocket":
            return await handler(asked)  # not recorded, and not announced: the guard has its say
        body = await self._body_of(asked) if is_provider else b""
        decision = brain.ask(
            Request(method=asked.method, url=str(asked.url), headers=_Headers(asked.headers), body=body)
        )
        while isinstance(decision, Later):
            await asyncio.sleep(_POLL)
            decision = decision.poll() or decision
        backoff.note(replayed=isinstance(decision, Answer))
        match decision:
            case Answer():
                if decision.delay:
                    await patience().hold(decision.delay, decision, self._failures, asked)
                return self._answer(decision, asked, limit, patience)
            case Record():
                return await self._record(decision, asked, handler, undoes=undoes, limit=limit)
            case PassThrough():
                asked.headers.update(decision.headers)  # this attempt's own: a redirect has others
                with announce.announced():
                    return await handler(asked)

    # -- requests

    async def _body_of(self, asked: Any) -> bytes:
        """The whole body, which can still be sent afterwards."""
        payload = asked.body
        if payload is None or isinstance(payload, bytes):
            return payload or b""
        value = payload._value
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        kept = _Collected()
        await payload.write(kept)
        body = kept.body
        if hasattr(payload, "close"):
            await payload.close()
        # A generator gives its bytes only once; the head (length, content type) was settled when the request was made.
        self._set_body(asked, body)
        return body

    def _set_body(self, asked: Any, body: bytes) -> None:
        again = self._payload(io.BytesIO(body), content_type=asked.headers.get("Content-Type", ""))
        # In 3.12.0 it was a plain attribute; since then its setter would settle the head anew.
        setattr(asked, "_body" if hasattr(asked, "_body") else "body", again)

    def _outgoing(self, record: Record, asked: Any) -> None:
        if record.body is not None:
            self._set_body(asked, record.body)
            if "Content-Length" in asked.headers:
                asked.headers["Content-Length"] = str(len(record.body))
        if record.url is not None:
            asked.url = self._url(record.url, encoded=True)
        if not encodings.is_signed(asked.headers.get("Authorization")):
            asked.headers["Accept-Encoding"] = _ENCODINGS

    # -- responses

    async def _record(self, record: Record, asked: Any, handler: _Handler, *, undoes: bool, limit: int) -> Any:
        take = record.take
        self._outgoing(record, asked)
        try:
            # The limit for the whole call cancels the task, and only its timer can tell that from a caller who leaves.
            with announce.announced(), asked._timer:
                response = await handler(asked)
        except Exception as error:
            take.fail(self._failures.tell(error))
            raise
        except BaseException:
            take.close()
            raise
        headers = {key.lower(): value for key, value in response.headers.items()}
        kept = {key: value for key, value in headers.items() if key in RESPONSE_HEADERS}
        if undoes and headers.get("content-encoding", "").lower() in _UNDONE_BY_AIOHTTP:
            encoding = headers.pop("content-encoding")
            if encodings.needs_a_package(encoding):
                kept.pop("content-encoding")  # the file holds the decoded body, and whoever replays it must not decode
        passed = take.start(response.status, headers, kept)
        response.cookies = SimpleCookie()  # read from the head before we were asked; the session would keep them
        self._set_head(response, response.status, [(k, v) for k, v in response.headers.items() if k.lower() in passed])
        response.content = self._teed(response.content, take, limit)
        if response.status in _REDIRECTS:
            await response.content.read_ahead()  # aiohttp drops it unread, at whatever point the network had got to
        return response

    def _answer(self, answer: Answer, asked: Any, limit: int, patience: Callable[[], Patience]) -> Any:
        if answer.status is None:
            raise self._failures.rebuild(answer.exception, asked, has_head=False)
        options: dict[str, Any] = {"writer": None, "continue100": None, "timer": self._timer(), "traces": asked._traces}
        if "stream_writer" in _parameters(self._module.ClientResponse):
            options["stream_writer"] = _Sent()
        response = asked.response_class(
            asked.method,
            asked.original_url,
            request_info=asked.request_info,
            loop=asked.loop,
            session=asked._session,
            **options,
        )
        response._closed = False
        response.version = self._module.HttpVersion11
        response.status = answer.status
        self._set_head(response, answer.status, answer.headers.items())
        response.content = self._replayed(answer, asked, limit, patience)
        response.content.on_eof(response._response_eof)
        return response

    def _set_head(self, response: Any, status: int, headers: Iterable[tuple[str, str]]) -> None:
        pairs = list(headers)
        # Recordings hold no reason phrase, so the caller gets the standard's in both.
        response.reason = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
        response._headers = self._multidict.CIMultiDictProxy(self._multidict.CIMultiDict(pairs))
        response._raw_headers = tuple(
            (key.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape")) for key, value in pairs
        )
        for name in ("headers", "raw_headers"):
            response._cache.pop(name, None)


class _Headers(Mapping[str, str]):
    """aiohttp's multidict as the brain asks for headers: the first of each name."""

    def __init__(self, headers: Any) -> None:
        self._headers = headers

    def __getitem__(self, name: str) -> str:
        return str(self._headers[name])

    def __iter__(self) -> Any:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)


class _Collected:
    """A stream writer that keeps what is written to it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    @property
    def body(self) -> bytes:
        """Everything so far."""
        return b"".join(self._parts)

    async def write(self, chunk: Any, **_options: Any) -> None:
        """One piece of the body."""
        self._parts.append(bytes(chunk))

    async def write_eof(self, chunk: bytes = b"") -> None:
        """The last piece."""
        self._parts.append(bytes(chunk))

    async def drain(self) -> None:
        """There is never anything to wait for."""


@functools.cache
def _parameters(function: Any) -> frozenset[str]:
    import inspect

    return frozenset(inspect.signature(function).parameters)
