"""What goes wrong in an app comes out where its answer is awaited, within a deadline, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from stackproof.errors import StackproofError, StackStartError
from stackproof.stack.inprocess import InProcessApp


class BoomError(Exception):
    """What the app raises."""


def client_of(app: InProcessApp, **options: Any) -> httpx2.Client:
    return httpx2.Client(transport=app.transport(), base_url="http://stack.invalid", **options)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert "stackproof-app" not in {thread.name for thread in threading.enumerate()}


def test_an_exception_of_the_app_comes_out() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise BoomError("before the headers")

    with InProcessApp(app) as running, client_of(running) as client:
        with pytest.raises(BoomError, match="before the headers"):
            client.get("/")
        with pytest.raises(BoomError, match="before the headers"):  # and the app goes on
            client.get("/")


def test_an_exception_within_the_answer_comes_out_of_the_stream_after_what_was_sent() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise BoomError("in the middle")

    async def ask(running: InProcessApp) -> None:
        client = httpx2.AsyncClient(transport=running.async_transport(), base_url="http://stack.invalid")
        async with client, client.stream("GET", "/") as response:
            chunks = response.aiter_raw()
            assert await anext(chunks) == b"half"
            with pytest.raises(BoomError, match="in the middle"):
                await anext(chunks)

    with InProcessApp(app) as running:
        asyncio.run(ask(running))


def test_a_frameworks_own_500_is_the_answer_and_the_reason_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: Request) -> Response:
        raise BoomError("why")

    with InProcessApp(Starlette(routes=[Route("/", fail)])) as running, client_of(running) as client:
        assert client.get("/").status_code == 500
        deadline = time.monotonic() + 60
        while "BoomError: why" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "BoomError: why" in caplog.text


def test_an_app_that_returns_too_early_breaks_the_connection() -> None:
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        return

    async def half(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})

    for app, text in ((silent, "without an answer"), (half, "within its answer")):
        error = pytest.raises(httpx2.RemoteProtocolError, match=text)
        with InProcessApp(app) as running, client_of(running) as client, error:
            client.get("/")


def test_an_app_that_exits_breaks_its_own_request_only() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/exit":
            raise SystemExit(3)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    def http(scope: Any, receive: Any, send: Any) -> Any:
        if scope["type"] != "http":
            raise BoomError("no lifespan")
        return app(scope, receive, send)

    with InProcessApp(http) as running, client_of(running) as client:
        with pytest.raises(httpx2.RemoteProtocolError, match="SystemExit"):
            client.get("/exit")
        assert client.get("/").status_code == 204


def test_the_clients_read_timeout_holds_for_headers_and_for_each_chunk() -> None:
    cancelled = threading.Semaphore(0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            if scope["path"] == "/stream":
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await asyncio.sleep(900)
        except asyncio.CancelledError:
            cancelled.release()
            raise

    def http(scope: Any, receive: Any, send: Any) -> Any:
        if scope["type"] != "http":
            raise BoomError("no lifespan")
        return app(scope, receive, send)

    with InProcessApp(http) as running, client_of(running, timeout=0.1) as client:
        with pytest.raises(httpx2.ReadTimeout):
            client.get("/")
        with client.stream("GET", "/stream", timeout=2) as response:
            chunks = response.iter_raw()
            assert next(chunks) == b"first"
            with pytest.raises(httpx2.ReadTimeout):
                next(chunks)
        assert cancelled.acquire(timeout=60)
        assert cancelled.acquire(timeout=60)


def test_a_client_without_a_timeout_does_not_wait_for_ever() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(900)

    error = pytest.raises(httpx2.ReadTimeout)
    with InProcessApp(app, answer_timeout=0.1) as running, client_of(running, timeout=None) as client, error:
        client.get("/")


def test_the_app_cannot_wait_for_itself_on_its_own_loop() -> None:
    inner: list[httpx2.Client] = []

    async def call_itself(request: Request) -> Response:
        return PlainTextResponse(inner[0].get("/").text)

    with InProcessApp(Starlette(routes=[Route("/", call_itself)])) as running, client_of(running) as client:
        inner.append(client)
        assert client.get("/").status_code == 500


def test_lifespan_runs_around_the_requests_and_its_state_reaches_them() -> None:
    order: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, str]]:
        order.append("up")
        yield {"resource": "open"}
        order.append("down")

    async def endpoint(request: Request) -> Response:
        order.append(request.state.resource)
        return PlainTextResponse("ok")

    app = Starlette(routes=[Route("/", endpoint)], lifespan=lifespan)
    with InProcessApp(app) as running, client_of(running) as client:
        assert client.get("/").text == "ok"
    assert order == ["up", "open", "down"]


def test_a_failing_start_up_is_a_stack_start_error_with_the_apps_traceback() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if not app.debug:
            raise BoomError("no database")
        yield

    with pytest.raises(StackStartError, match="no database") as caught, InProcessApp(Starlette(lifespan=lifespan)):
        pass
    assert any("Traceback" in note for note in caught.value.__notes__)


def test_a_start_up_that_hangs_ends_at_its_deadline() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await asyncio.sleep(900)
        yield

    app = InProcessApp(Starlette(lifespan=lifespan), start_timeout=0.1)
    with pytest.raises(StackStartError, match=r"within 0\.1 s"), app:
        pass


@pytest.mark.parametrize("trouble", ["fails", "hangs"])
def test_a_shutdown_that_fails_or_hangs_is_named(trouble: str) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        if trouble == "fails":
            raise BoomError("cannot close")
        await asyncio.sleep(900)

    expected = "cannot close" if trouble == "fails" else r"within 0\.2 s"
    app = InProcessApp(Starlette(lifespan=lifespan), stop_timeout=0.2)
    with pytest.raises(StackproofError, match=expected), app:
        pass


def test_an_error_of_the_test_is_not_hidden_by_an_error_of_the_shutdown() -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        raise BoomError("cannot close")

    with pytest.raises(KeyError), InProcessApp(Starlette(lifespan=lifespan)):
        raise KeyError("the test's own")


def test_requests_in_flight_end_when_the_app_stops() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            asking.set()
            await asyncio.sleep(900)

    asking = threading.Event()
    caught: list[BaseException] = []

    def ask(client: httpx2.Client) -> None:
        try:
            client.get("/")
        except httpx2.HTTPError as error:
            caught.append(error)

    with InProcessApp(app, close_grace=0.1) as running:
        client = client_of(running)
        thread = threading.Thread(target=ask, args=(client,))
        thread.start()
        assert asking.wait(60)
    thread.join(60)
    assert [type(error) for error in caught] == [httpx2.RemoteProtocolError]
    with pytest.raises(httpx2.ConnectError, match="not running"):
        client.get("/")
    client.close()


def test_background_work_of_an_answered_request_may_end_before_the_app_does() -> None:
    go, done = threading.Event(), threading.Event()

    async def endpoint(request: Request) -> Response:
        async def work() -> None:
            await asyncio.to_thread(go.wait, 60)
            done.set()

        return PlainTextResponse("ok", background=BackgroundTask(work))

    with InProcessApp(Starlette(routes=[Route("/", endpoint)])) as running, client_of(running) as client:
        client.get("/")
        assert not done.is_set()
        go.set()
    assert done.is_set()


def test_a_streaming_response_of_starlette_is_closed_when_its_reader_leaves() -> None:
    closed = threading.Event()

    async def events() -> AsyncIterator[str]:
        try:
            yield "data: 1\n\n"
            await asyncio.sleep(900)
        finally:
            closed.set()

    async def endpoint(request: Request) -> Response:
        return StreamingResponse(events(), media_type="text/event-stream")

    with InProcessApp(Starlette(routes=[Route("/", endpoint)])) as running, client_of(running) as client:
        with client.stream("GET", "/") as response:
            assert next(response.iter_text()) == "data: 1\n\n"
        assert closed.is_set()


def test_nothing_listens() -> None:
    async def endpoint(request: Request) -> Response:
        return PlainTextResponse("ok")

    before = listening_inodes()
    with InProcessApp(Starlette(routes=[Route("/", endpoint)])) as running, client_of(running) as client:
        assert client.get("/").text == "ok"
        assert listening_inodes() == before


def listening_inodes() -> set[str]:
    """Inodes of this process's TCP sockets in state LISTEN (0A), from proc(5)."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("no /proc here")
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
            listening |= {row[9] for row in rows if row[3] == "0A"}
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            own.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    return listening & own
