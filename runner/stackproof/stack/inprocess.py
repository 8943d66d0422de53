"""A stack that runs inside the test process: an ASGI app on one event loop of its own, reached without a socket.

httpx2's own ASGI transport collects an answer before it returns it, and has no sync form. This one returns as soon as
the app has sent its headers, hands the body on piece by piece, and serves sync and async callers on any event loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from stackproof.errors import StackproofError, StackStartError
from stackproof.plaintext import number
from stackproof.stack.inprocess_exchange import BrokenAnswerError, Exchange
from stackproof.stack.inprocess_lifespan import Lifespan

if TYPE_CHECKING:
    # httpx2 belongs to the extra "reference"; a server run does without it.
    import httpx2

T = TypeVar("T")
log = logging.getLogger(__name__)


def _nothing() -> None:
    return


class InProcessApp:
    """Context manager that runs an ASGI app: its lifespan and every request on one private event-loop thread.

    Times are in seconds. `start_timeout` and `stop_timeout` bound the app's start-up and shutdown; `answer_timeout` is
    the longest wait for the next piece of an answer when the client sets no read timeout; `close_grace` is how long an
    app whose client left may take to notice `http.disconnect` before its task is cancelled.
    """

    def __init__(
        self,
        app: Any,
        *,
        start_timeout: float = 30.0,
        stop_timeout: float = 10.0,
        answer_timeout: float = 600.0,
        close_grace: float = 2.0,
    ) -> None:
        self._app = app
        self.start_timeout = start_timeout
        self.stop_timeout = stop_timeout
        self.answer_timeout = answer_timeout
        self.close_grace = close_grace
        self._lifespan = Lifespan(app)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._failure: BaseException | None = None
        self._tasks: dict[Exchange, asyncio.Task[None]] = {}
        # Called in the caller's context when a request begins; what it returns is called when the app is done with it.
        self.watch_request: Callable[[], Callable[[], None]] = lambda: _nothing

    def __enter__(self) -> Self:
        """Start the thread and the app. StackStartError when the start-up fails or takes too long."""
        if self._thread is not None:
            raise RuntimeError("An InProcessApp is entered once.")
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=self._run, args=(contextvars.copy_context(), ready), name="stackproof-app", daemon=True
        )
        self._thread.start()
        try:
            ready.result(timeout=self.start_timeout)
        except TimeoutError:
            self._join()
            raise StackStartError(
                f"the app's start-up did not end within {number(self.start_timeout)} s",
                hint="look at what its lifespan waits for, or allow more time with --start-timeout SECONDS",
            ) from None
        except BaseException:
            self._join()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the app: running requests are told and cancelled, then the lifespan's shutdown, then the thread.

        StackproofError when the shutdown fails or does not end; never in place of an error that is on its way.
        """
        ended = self._join()
        if error is not None:
            return
        if not ended:
            raise StackproofError(
                "the app does not stop",
                hint="something in it ignores cancellation; its thread is left behind as a daemon",
            )
        if self._failure is not None:
            raise self._failure

    def transport(self) -> httpx2.BaseTransport:
        """A transport for `httpx2.Client`; any number of clients and threads may use it."""
        from stackproof.stack.inprocess_transport import InProcessTransport  # noqa: PLC0415 - brings httpx2

        return InProcessTransport(self)

    def async_transport(self) -> httpx2.AsyncBaseTransport:
        """A transport for `httpx2.AsyncClient` on any asyncio event loop."""
        from stackproof.stack.inprocess_transport import InProcessAsyncTransport  # noqa: PLC0415 - brings httpx2

        return InProcessAsyncTransport(self)

    def begin(self, scope: Mapping[str, Any], body: bytes) -> Exchange:
        """Start the app on a request, in a copy of the caller's context. BrokenAnswerError when it is not running."""
        exchange = Exchange(body=body, head_only=scope["method"] == "HEAD")
        context = contextvars.copy_context()
        asgi = {"version": "3.0", "spec_version": "2.3"}  # what uvicorn says: a client that leaves shows in `receive`
        full = {**scope, "type": "http", "asgi": asgi, "state": self._lifespan.state.copy()}

        async def start() -> None:
            coroutine = self._serve_one(full, exchange)
            task = asyncio.get_running_loop().create_task(coroutine, context=context, name=scope["path"])
            self._tasks[exchange] = task
            task.add_done_callback(lambda _: self._tasks.pop(exchange, None))
            task.add_done_callback(lambda _: over())

        over = self.watch_request()
        try:
            self.submit(start())
        except BrokenAnswerError:
            over()
            raise
        return exchange

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the app's loop. BrokenAnswerError when the app is not running."""
        if self._loop is None or self._loop.is_closed():
            coroutine.close()
            raise BrokenAnswerError("The app is not running.")
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # closed a moment ago
            coroutine.close()
            raise BrokenAnswerError("The app is not running.") from None

    @property
    def thread_id(self) -> int | None:
        """The identity of the app's thread, on which nothing may wait for the app."""
        return self._thread.ident if self._thread else None

    async def abandon(self, exchange: Exchange, *, grace: float) -> None:
        """The client leaves: tell the app, and cancel its task when it goes on for `grace` seconds."""
        exchange.disconnect()
        task = self._tasks.get(exchange)
        if task is None:
            return
        if grace > 0:
            await asyncio.wait({task}, timeout=grace)
        task.cancel()
        await asyncio.wait({task}, timeout=self.close_grace)

    async def _serve_one(self, scope: Mapping[str, Any], exchange: Exchange) -> None:
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            exchange.end(BrokenAnswerError("The app's task was cancelled."))
            raise
        except (SystemExit, KeyboardInterrupt) as error:
            # Passed on as it is, it would end the loop, and with it every other request.
            exchange.end(BrokenAnswerError(f"The app asked its process to exit ({error!r})."))
        except Exception as error:
            if exchange.complete:
                # The client has its answer (a framework's own 500, say), as it would have from a server.
                log.exception("The app failed after its answer to %s %s.", scope["method"], scope["path"])
            exchange.end(error)
        else:
            exchange.end(None)

    def _run(self, context: contextvars.Context, ready: concurrent.futures.Future[None]) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve(ready), context=context)
        except BaseException as error:  # noqa: BLE001 - a thread has nobody to raise to
            self._failure = error
            if not ready.done():
                ready.set_exception(error)

    async def _serve(self, ready: concurrent.futures.Future[None]) -> None:
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        started = self._loop.create_task(self._lifespan.startup())
        stopped = self._loop.create_task(self._stop.wait())
        await asyncio.wait({started, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            return  # too late: the runner cancels it
        await started
        ready.set_result(None)
        await stopped
        await self._end_requests()
        try:
            async with asyncio.timeout(self.stop_timeout):
                await self._lifespan.shutdown()
        except TimeoutError:
            raise StackproofError(
                f"the app's shutdown did not end within {number(self.stop_timeout)} s",
                hint="look at what its lifespan waits for after the yield",
            ) from None

    async def _end_requests(self) -> None:
        """As servers do: tell each request, let it (and its background work) come to an end, then cancel it."""
        for exchange in tuple(self._tasks):
            exchange.end(BrokenAnswerError("The app was stopped before its answer was complete."))
        tasks = set(self._tasks.values())
        if not tasks:
            return
        await asyncio.wait(tasks, timeout=self.close_grace)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=self.close_grace)

    def _join(self) -> bool:
        if self._loop is not None and self._stop is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:
                log.debug("The loop closed by itself.")
        if self._thread is None:
            return True
        self._thread.join(timeout=self.stop_timeout + 3 * self.close_grace)
        return not self._thread.is_alive()
