"""httpx and httpx2: one interception for each, at the transport that opens connections, sync and async.

Both have the same names in separate class trees, so everything is taken from the module that was given. What sits above
(clients, SDKs, proxies, mounts, event hooks) runs as always; transports of other kinds (mocks, in-process ASGI) are not
touched.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from .. import announce, pacing
from ..brain import Brain
from ..decision import Answer, Later, PassThrough, Record
from ..encodings import is_signed
from ..failures import Kind, Told, kind_of, tell
from ..interaction import Request
from ..patching import MARK, require_own, require_version
from ..redact import RESPONSE_HEADERS
from . import backoff

# The oldest that the tests were run on; httpx2 has all of it from its first release.
LOWEST = {"httpx": (0, 25), "httpx2": (2, 0)}
_POLL = 0.02
# Seconds that a relay gets to learn that its own client has left, before reading on counts as a miss.
_LEAVING = 2.0
# Only what the standard library can undo: the body has to be read while it passes.
_ENCODINGS = "gzip, deflate"
# What only other libraries tell apart; every other kind is the name of a class here.
_NEAREST = {
    Kind.NAME_RESOLUTION: "ConnectError",
    Kind.TLS: "ConnectError",
    Kind.TOTAL_TIMEOUT: "ReadTimeout",
}
# What both libraries say of a socket that timed out; anyio says nothing.
_TIMED_OUT = "timed out"


def install(module: ModuleType, active: Callable[[], Brain | None]) -> Callable[[], None]:
    """Put the interception into `module` (httpx or httpx2); returns the undo. Asks `active()` on each call.

    UnsupportedVersionError and ForeignPatchError say why not. A module that is an alias of one already patched
    (`httpx2.alias_httpx()`) is left as it is.
    """
    # Under the name of the other, `alias_httpx()` shows httpx2: it knows its own name.
    require_version(module, LOWEST.get(module.__name__, (0,)))
    sync_class, async_class = module.HTTPTransport, module.AsyncHTTPTransport
    handle, handle_async = sync_class.handle_request, async_class.handle_async_request
    for name, method in (("handle_request", handle), ("handle_async_request", handle_async)):
        require_own(method, f"{module.__name__}'s transport method {name}", "httpx", "httpx2")
    wire = _Wire(module)

    @functools.wraps(handle)
    def handle_request(self: Any, request: Any) -> Any:
        brain = active()
        if brain is None:
            return handle(self, request)
        request.read()
        decision = brain.ask(_translate(request))
        while isinstance(decision, Later):
            time.sleep(_POLL)
            decision = decision.poll() or decision
        if isinstance(decision, Answer):
            if decision.delay:
                wire.hold(decision.delay, decision, request)
            return wire.replayed(decision, request)
        return wire.sync(decision, request, functools.partial(handle, self))

    @functools.wraps(handle_async)
    async def handle_async_request(self: Any, request: Any) -> Any:
        brain = active()
        if brain is None:
            return await handle_async(self, request)
        await request.aread()
        decision = brain.ask(_translate(request))
        while isinstance(decision, Later):
            await _pause(_POLL)
            decision = decision.poll() or decision
        if isinstance(decision, Answer):
            if decision.delay:
                await wire.hold_back(decision.delay, decision, request)
            return wire.replayed(decision, request)
        return await wire.asynchronous(decision, request, functools.partial(handle_async, self))

    setattr(handle_request, MARK, True)
    setattr(handle_async_request, MARK, True)
    # Each for itself: where a tool that wraps ours is still in place, or put ours back, the other method is original.
    if not hasattr(handle, MARK):
        sync_class.handle_request = handle_request
    if not hasattr(handle_async, MARK):
        async_class.handle_async_request = handle_async_request

    def undo() -> None:
        # What another tool has put around ours since then is not ours to remove: through it, ours lets all calls pass.
        if sync_class.handle_request is handle_request:
            sync_class.handle_request = handle
        if async_class.handle_async_request is handle_async_request:
            async_class.handle_async_request = handle_async

    return undo


async def _pause(seconds: float) -> None:
    import anyio  # both libraries bring it for their async transports, whatever event loop runs

    await anyio.sleep(seconds)


def _limit_of(request: Any) -> float:
    """Seconds that the caller waits for the next bytes."""
    limit = request.extensions.get("timeout", {}).get("read")
    return math.inf if limit is None else float(limit)


def _translate(request: Any) -> Request:
    return Request(
        method=request.method,
        url=str(request.url),
        headers=request.headers,  # a mapping that ignores case
        body=request.content,
    )


class _Wire:
    """Carries out decisions with the classes of one module."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

        wire = self

        class Stream(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc, name-defined]
            """A recorded body: one cursor however often it is iterated, as SDKs iterate once more while closing."""

            def __init__(self, answer: Answer, request: Any) -> None:
                self._chunks = iter(answer.chunks)
                self._waits = iter(answer.waits)
                self._answer, self._request = answer, request
                self._closed = False

            def __iter__(self) -> Iterator[bytes]:
                for chunk in self._chunks:
                    if wait := next(self._waits, 0.0):
                        wire.hold(wait, self._answer, self._request)
                    yield chunk
                self._end()

            async def __aiter__(self) -> AsyncIterator[bytes]:
                for chunk in self._chunks:
                    if wait := next(self._waits, 0.0):
                        await wire.hold_back(wait, self._answer, self._request)
                    yield chunk
                if self._answer.read_on is not None:
                    await self._until_left()
                self._end()

            async def _until_left(self) -> None:
                # A relay reads ahead of its client: it learns that the client has left a moment after the last event.
                # So many turns, and not so long by a clock: on a busy machine others may have had none meanwhile.
                for _ in range(round(_LEAVING / _POLL)):
                    if self._closed:
                        break
                    await _pause(_POLL)

            def _end(self) -> None:
                if self._answer.exception is not None:
                    raise wire.exception(self._answer, self._request)
                if self._answer.read_on is not None and not self._closed:
                    raise module.ReadError(self._answer.read_on(), request=self._request)

            def close(self) -> None:
                self._closed = True

            async def aclose(self) -> None:
                self._closed = True

        class Tee(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc, name-defined]
            """A live body on its way to the caller, with the take listening."""

            def __init__(self, wire: _Wire, record: Record, stream: Any) -> None:
                self._wire, self._take, self._stream = wire, record.take, stream
                self._cursor: Any = None

            def __iter__(self) -> Iterator[bytes]:
                if self._cursor is None:
                    self._cursor = iter(self._stream)
                with self._wire.watching(self._take):
                    for chunk in self._cursor:
                        yield from self._take.feed(chunk)
                yield from self._take.end()

            async def __aiter__(self) -> AsyncIterator[bytes]:
                if self._cursor is None:
                    self._cursor = aiter(self._stream)
                with self._wire.watching(self._take):
                    async for chunk in self._cursor:
                        for piece in self._take.feed(chunk):
                            yield piece
                for piece in self._take.end():
                    yield piece

            def close(self) -> None:
                try:
                    self._take.close()
                finally:
                    self._stream.close()

            async def aclose(self) -> None:
                try:
                    self._take.close()
                finally:
                    await self._stream.aclose()

            def __del__(self) -> None:
                # A cancelled caller may never have read, nor closed: whoever waits for calls in flight learns it here.
                self._take.close()

        self._stream_class, self._tee_class = Stream, Tee

    def sync(self, decision: PassThrough | Record | Later, request: Any, send: Callable[[Any], Any]) -> Any:
        backoff.note(replayed=False)
        match decision:
            case Record():
                with self.watching(decision.take), announce.announced():
                    response = send(self._outgoing(decision, request))
                return self._recorded(decision, response)
            case PassThrough():
                with announce.announced():
                    return send(self._with_headers(request, decision.headers))
            case Later():
                raise AssertionError("polled before")

    async def asynchronous(
        self, decision: PassThrough | Record | Later, request: Any, send: Callable[[Any], Any]
    ) -> Any:
        backoff.note(replayed=False)
        match decision:
            case Record():
                with self.watching(decision.take), announce.announced():
                    response = await send(self._outgoing(decision, request))
                return self._recorded(decision, response)
            case PassThrough():
                with announce.announced():
                    return await send(self._with_headers(request, decision.headers))
            case Later():
                raise AssertionError("polled before")

    @contextlib.contextmanager
    def watching(self, take: Any) -> Iterator[None]:
        """Tell the take how the wire failed. A caller that leaves is no failure: closing tells that."""
        try:
            yield
        except self._module.HTTPError as error:
            take.fail({"kind": type(error).__name__, "message": str(error)})
            raise
        except zlib.error as error:
            take.fail({"kind": "DecodingError", "message": str(error)})
            raise self._module.DecodingError(str(error)) from error
        except Exception as error:
            take.fail({"kind": "ReadError", "message": f"{type(error).__name__}: {error}"})
            raise
        except BaseException:
            take.close()
            raise

    def _outgoing(self, record: Record, request: Any) -> Any:
        asked = {} if is_signed(request.headers.get("authorization")) else {"accept-encoding": _ENCODINGS}
        if record.url is None and record.body is None:
            return self._with_headers(request, asked)
        headers = [(key, value) for key, value in request.headers.raw if key.lower() != b"content-length"]
        changed = self._module.Request(
            request.method,
            record.url or request.url,
            headers=headers,
            content=record.body if record.body is not None else request.content,
            extensions=request.extensions,
        )
        changed.headers.update(asked)
        return changed

    def _with_headers(self, request: Any, headers: Mapping[str, str]) -> Any:
        """A copy with these headers set: the caller's own request may go out again, or be redirected elsewhere."""
        if not headers:
            return request
        copy = self._module.Request(
            request.method, request.url, headers=request.headers, stream=request.stream, extensions=request.extensions
        )
        copy.headers.update(headers)
        return copy

    def _recorded(self, record: Record, response: Any) -> Any:
        headers = {key.lower(): value for key, value in response.headers.items()}
        kept = {key: value for key, value in headers.items() if key in RESPONSE_HEADERS}
        passed = record.take.start(response.status_code, headers, kept)
        return self._module.Response(
            status_code=response.status_code,
            headers=passed,
            stream=self._tee_class(self, record, response.stream),
            # Recordings hold no reason phrase, so the caller gets the standard's in both.
            extensions={key: value for key, value in response.extensions.items() if key != "reason_phrase"},
        )

    def replayed(self, answer: Answer, request: Any) -> Any:
        backoff.note(replayed=True)
        if answer.status is None:
            raise self.exception(answer, request)
        return self._module.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=self._stream_class(answer, request),
            extensions={"http_version": b"HTTP/1.1"},
        )

    def hold(self, seconds: float, answer: Answer, request: Any) -> None:
        """Let the caller wait, as long as its own read timeout lets it; then its library's exception."""
        limit = _limit_of(request)
        for nap in pacing.naps(min(seconds, limit), answer.over):
            time.sleep(nap)
        if seconds > limit:
            raise self._exception(tell(Kind.READ_TIMEOUT, _TIMED_OUT), request, has_head=True)

    async def hold_back(self, seconds: float, answer: Answer, request: Any) -> None:
        """The same where others go on meanwhile."""
        limit = _limit_of(request)
        for nap in pacing.naps(min(seconds, limit), answer.over):
            await _pause(nap)
        if seconds > limit:
            raise self._exception(tell(Kind.READ_TIMEOUT, ""), request, has_head=True)

    def exception(self, answer: Answer, request: Any) -> Exception:
        return self._exception(answer.exception, request, has_head=answer.status is not None)

    def _exception(self, told: Told | None, request: Any, *, has_head: bool) -> Exception:
        kind = kind_of(told, has_head=has_head)
        message = (told or {}).get("message", "")
        error: Exception = getattr(self._module, _NEAREST.get(kind, kind.value))(message, request=request)
        return error
