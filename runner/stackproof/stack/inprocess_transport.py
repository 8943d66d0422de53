"""httpx2 transports onto an app in this process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import httpx2

from stackproof.stack.inprocess import InProcessApp
from stackproof.stack.inprocess_exchange import BrokenAnswerError, Exchange, Head

T = TypeVar("T")


class InProcessTransport(httpx2.BaseTransport):
    """For `httpx2.Client`. The request body is read as a whole; the answer comes piece by piece."""

    def __init__(self, app: InProcessApp) -> None:
        self._app = app

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. ConnectError, ReadTimeout, RemoteProtocolError, or what the app raised."""
        if threading.get_ident() == self._app.thread_id:
            raise RuntimeError("The app calls itself with a sync client on its own event loop: nobody could answer.")
        body = _Body(self._app, _begin(self._app, request, request.read()), request)
        try:
            head = body.wait(body.exchange.take())
        except BaseException:
            body.leave()
            raise
        return _response(head, body)


class InProcessAsyncTransport(httpx2.AsyncBaseTransport):
    """For `httpx2.AsyncClient`. The request body is read as a whole; the answer comes piece by piece."""

    def __init__(self, app: InProcessApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; errors as in the sync form. Cancelling the caller cancels the app's task."""
        body = _AsyncBody(self._app, _begin(self._app, request, await request.aread()), request)
        try:
            head = await body.wait(body.exchange.take())
        except BaseException:
            body.leave()
            raise
        return _response(head, body)


class _Answer:
    """What both forms of a body share: the exchange, its deadline, and leaving it."""

    def __init__(self, app: InProcessApp, exchange: Exchange, request: httpx2.Request) -> None:
        self.exchange = exchange
        self._app = app
        self._request = request
        self._timeout = _read_timeout(request, app.answer_timeout)
        self._closed = False

    def leave(self) -> None:
        """Give up at once, waiting for nothing."""
        self._closed = True
        try:
            self._app.submit(self._app.abandon(self.exchange, grace=0.0))
        except BrokenAnswerError:
            return

    def _close(self) -> concurrent.futures.Future[None] | None:
        if self._closed:
            return None
        self._closed = True
        if self.exchange.complete:
            return None
        try:
            return self._app.submit(self._app.abandon(self.exchange, grace=self._app.close_grace))
        except BrokenAnswerError:
            return None

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        try:
            return self._app.submit(coroutine)
        except BrokenAnswerError as error:
            raise httpx2.ReadError(str(error), request=self._request) from error

    def _result(self, future: concurrent.futures.Future[T] | asyncio.Future[T]) -> T:
        if not future.done():
            future.cancel()
            raise httpx2.ReadTimeout(f"The app sent nothing for {self._timeout:g} s.", request=self._request)
        if future.cancelled():
            raise httpx2.ReadError("The app was stopped.", request=self._request)
        try:
            return future.result()
        except BrokenAnswerError as error:
            raise httpx2.RemoteProtocolError(str(error), request=self._request) from error


class _Body(_Answer, httpx2.SyncByteStream):
    """A single-cursor iterator: SDKs iterate a stream once more while they close it."""

    def __iter__(self) -> _Body:
        return self

    def __next__(self) -> bytes:
        if self._closed:
            raise StopIteration
        try:
            piece = self.wait(self.exchange.take())
        except BaseException:
            self.leave()
            raise
        if not isinstance(piece, bytes):
            raise StopIteration
        return piece

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = self._submit(coroutine)
        concurrent.futures.wait((future,), timeout=self._timeout)
        return self._result(future)

    def close(self) -> None:
        future = self._close()
        if future is not None:
            concurrent.futures.wait((future,), timeout=2 * self._app.close_grace)


class _AsyncBody(_Answer, httpx2.AsyncByteStream):
    """The same for async callers."""

    def __aiter__(self) -> _AsyncBody:
        return self

    async def __anext__(self) -> bytes:
        if self._closed:
            raise StopAsyncIteration
        try:
            piece = await self.wait(self.exchange.take())
        except BaseException:
            self.leave()
            raise
        if not isinstance(piece, bytes):
            raise StopAsyncIteration
        return piece

    async def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = asyncio.wrap_future(self._submit(coroutine))
        try:
            await asyncio.wait((future,), timeout=self._timeout)
        except BaseException:
            future.cancel()
            raise
        return self._result(future)

    async def aclose(self) -> None:
        future = self._close()
        if future is not None:
            await asyncio.wait((asyncio.wrap_future(future),), timeout=2 * self._app.close_grace)


def _begin(app: InProcessApp, request: httpx2.Request, body: bytes) -> Exchange:
    url = request.url
    scope = {
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.split(b"?")[0],
        "query_string": url.query,
        "server": (url.host, url.port),
        "client": ("127.0.0.1", 0),
        "root_path": "",
        "extensions": {},
    }
    try:
        return app.begin(scope, body)
    except BrokenAnswerError as error:
        raise httpx2.ConnectError(str(error), request=request) from error


def _response(head: Head | bytes | None, body: _Body | _AsyncBody) -> httpx2.Response:
    if not isinstance(head, Head):
        raise TypeError(f"An answer begins with its head, not with {head!r}.")
    extensions = {"http_version": b"HTTP/1.1"}
    return httpx2.Response(head.status, headers=list(head.headers), stream=body, extensions=extensions)


def _read_timeout(request: httpx2.Request, longest: float) -> float:
    timeouts = request.extensions.get("timeout")
    read = timeouts.get("read") if isinstance(timeouts, Mapping) else None
    return longest if read is None else min(float(read), longest)
