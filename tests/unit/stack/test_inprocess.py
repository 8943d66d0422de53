"""An app in this process answers as a server would: headers first, then the body event by event."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import pytest

from stackproof.stack.inprocess import InProcessApp

MARK: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="none")
HEADERS = [(b"content-type", b"text/plain"), (b"x-twice", b"a"), (b"x-twice", b"b")]


class StepApp:
    """Sends its headers, then one chunk for each permission of the test. Notes what happens to it."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.seen: list[Any] = []
        self.called = threading.Event()
        self.ended = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        self.seen.append((await receive())["body"])
        self.called.set()
        gone = asyncio.ensure_future(receive())
        try:
            await send({"type": "http.response.start", "status": 201, "headers": HEADERS})
            for number in range(100):
                while not self.permits.acquire(blocking=False):
                    if gone.done():
                        self.seen.append(gone.result()["type"])
                        return
                    await asyncio.sleep(0.002)
                await send({"type": "http.response.body", "body": b"chunk %d" % number, "more_body": True})
        except asyncio.CancelledError:
            self.seen.append("cancelled")
            raise
        finally:
            gone.cancel()
            self.ended.set()


async def answer(send: Any, body: bytes = b"ok", status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})


def http_only(handler: Callable[[Any, Any, Any], Any]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", "no lifespan here"
        await handler(scope, receive, send)

    return app


def client_of(app: InProcessApp, **options: Any) -> httpx2.Client:
    return httpx2.Client(transport=app.transport(), base_url="http://stack.invalid", **options)


def async_client_of(app: InProcessApp, **options: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=app.async_transport(), base_url="http://stack.invalid", **options)


@pytest.fixture
def steps() -> StepApp:
    return StepApp()


@pytest.fixture
def running(steps: StepApp) -> Iterator[InProcessApp]:
    with InProcessApp(steps, close_grace=30) as app:
        yield app


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert "stackproof-app" not in {thread.name for thread in threading.enumerate()}


def test_headers_come_before_any_of_the_body_and_chunks_one_by_one(running: InProcessApp, steps: StepApp) -> None:
    with client_of(running) as client, client.stream("POST", "/x", content=b"question") as response:
        assert response.status_code == 201
        assert response.headers.get_list("x-twice") == ["a", "b"]
        chunks = response.iter_raw()
        for number in range(5):
            steps.permits.release()  # the app sends no chunk before this one was permitted
            assert next(chunks) == b"chunk %d" % number
    assert steps.seen[0] == b"question"


def test_async_callers_get_chunks_one_by_one_too(running: InProcessApp, steps: StepApp) -> None:
    async def ask() -> None:
        async with async_client_of(running) as client, client.stream("POST", "/x") as response:
            chunks = response.aiter_raw()
            for number in range(5):
                steps.permits.release()
                assert await anext(chunks) == b"chunk %d" % number

    asyncio.run(ask())


def test_chunks_that_wait_together_keep_their_edges() -> None:
    ended = threading.Event()

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(4):
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": number < 3})
        ended.set()

    with InProcessApp(http_only(handler)) as app, client_of(app) as client, client.stream("GET", "/") as response:
        assert ended.wait(60)
        assert list(response.iter_raw()) == [b"0", b"1", b"2", b"3"]


def test_leaving_a_stream_early_reaches_the_app_as_a_disconnect(running: InProcessApp, steps: StepApp) -> None:
    with client_of(running) as client, client.stream("GET", "/x") as response:
        steps.permits.release()
        next(response.iter_raw())
    assert steps.ended.is_set(), "closing waits until the app has noticed"
    assert steps.seen[1:] == ["http.disconnect"]


def test_leaving_an_async_stream_early_reaches_the_app_too(running: InProcessApp, steps: StepApp) -> None:
    async def ask() -> None:
        async with async_client_of(running) as client, client.stream("GET", "/x") as response:
            steps.permits.release()
            await anext(response.aiter_raw())

    asyncio.run(ask())
    assert steps.ended.is_set()
    assert steps.seen[1:] == ["http.disconnect"]


def test_an_app_that_ignores_the_disconnect_is_cancelled_after_the_grace() -> None:
    seen: list[str] = []

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"more", "more_body": True})
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    # Whoever leaves waits twice as long: once for the app to notice, and once for its cancellation.
    with InProcessApp(http_only(handler), close_grace=1.0) as app:
        with client_of(app) as client, client.stream("GET", "/") as response:
            next(response.iter_raw())
        assert seen == ["cancelled"]


def test_cancelling_an_async_caller_cancels_the_app(running: InProcessApp, steps: StepApp) -> None:
    async def ask() -> None:
        async with async_client_of(running) as client:
            task = asyncio.ensure_future(client.get("/x"))
            assert await asyncio.to_thread(steps.called.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(ask())
    assert steps.ended.wait(60)
    assert steps.seen[1] in {"cancelled", "http.disconnect"}


def test_cancelling_a_caller_before_the_headers_cancels_an_app_that_listens_to_nothing() -> None:
    started, seen = threading.Event(), threading.Event()

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        started.set()
        try:
            await asyncio.sleep(900)
        except asyncio.CancelledError:
            seen.set()
            raise

    async def ask(app: InProcessApp) -> None:
        async with async_client_of(app) as client:
            task = asyncio.ensure_future(client.get("/"))
            assert await asyncio.to_thread(started.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with InProcessApp(http_only(handler)) as app:
        asyncio.run(ask(app))
        assert seen.wait(60)


def test_the_callers_context_is_in_force_in_the_app_and_in_its_background_tasks() -> None:
    seen: list[str] = []
    background = threading.Event()

    async def later() -> None:
        await asyncio.sleep(0.02)
        seen.append("later " + MARK.get())
        background.set()

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        seen.append("app " + MARK.get())
        seen.append("executor " + await asyncio.to_thread(MARK.get))
        tasks.append(asyncio.ensure_future(later()))
        MARK.set("changed by the app")
        await answer(send)

    tasks: list[Any] = []
    with InProcessApp(http_only(handler)) as app, client_of(app) as client:
        token = MARK.set("test one")
        client.get("/")
        assert MARK.get() == "test one", "what the app sets stays in the app"
        MARK.reset(token)
        assert background.wait(60)
        assert seen == ["app test one", "executor test one", "later test one"]


def test_callers_that_ask_at_once_each_keep_their_own_context() -> None:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        mine = MARK.get()
        await asyncio.sleep(0.05)
        assert MARK.get() == mine
        await answer(send, mine.encode())

    async def one(client: httpx2.AsyncClient, name: str) -> tuple[str, str]:
        MARK.set(name)
        return name, (await client.get("/")).text

    async def ask(app: InProcessApp) -> list[tuple[str, str]]:
        async with async_client_of(app) as client:
            return await asyncio.gather(*(one(client, f"caller {number}") for number in range(20)))

    with InProcessApp(http_only(handler)) as app:
        assert all(name == text for name, text in asyncio.run(ask(app)))


def test_sync_and_async_callers_on_several_loops_share_one_app_loop() -> None:
    loops: set[int] = set()

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        loops.add(id(asyncio.get_running_loop()))
        await answer(send, threading.current_thread().name.encode())

    async def ask(app: InProcessApp) -> str:
        async with async_client_of(app) as client:
            return (await client.get("/")).text

    with InProcessApp(http_only(handler)) as app, client_of(app) as client:
        names = {client.get("/").text, asyncio.run(ask(app)), asyncio.run(ask(app))}
    assert names == {"stackproof-app"}
    assert len(loops) == 1


def test_threads_may_ask_at_once() -> None:
    barrier = threading.Barrier(4)

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.to_thread(barrier.wait, 60)  # passes only when four requests are in flight
        await answer(send, scope["path"].encode())

    with InProcessApp(http_only(handler)) as app, client_of(app) as client:
        texts: dict[str, str] = {}

        def ask(path: str) -> None:
            texts[path] = client.get(path).text

        threads = [threading.Thread(target=ask, args=(f"/{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert texts == {f"/{number}": f"/{number}" for number in range(4)}


def test_the_app_sees_the_request_as_a_server_would_show_it() -> None:
    scopes: list[dict[str, Any]] = []

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        await answer(send)

    with InProcessApp(http_only(handler)) as app, client_of(app) as client:
        client.put("/a%20b?q=1&q=2", headers={"X-Mine": "yes"})
    scope = scopes[0]
    assert (scope["method"], scope["path"], scope["raw_path"]) == ("PUT", "/a b", b"/a%20b")
    assert (scope["query_string"], scope["scheme"], scope["root_path"]) == (b"q=1&q=2", "http", "")
    assert (b"x-mine", b"yes") in scope["headers"]
    assert (b"host", b"stack.invalid") in scope["headers"]


def test_a_slow_reader_makes_the_app_wait() -> None:
    sent: list[int] = []

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(40):
            await send({"type": "http.response.body", "body": b"x" * 10_000, "more_body": number < 39})
            sent.append(number)

    with InProcessApp(http_only(handler)) as app, client_of(app) as client, client.stream("GET", "/") as response:
        deadline = time.monotonic() + 60
        while len(sent) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)  # more would come now
        assert 5 <= len(sent) <= 8
        assert sum(len(chunk) for chunk in response.iter_raw()) == 400_000


def test_the_answer_to_head_has_no_body() -> None:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, b"not for HEAD")

    with InProcessApp(http_only(handler)) as app, client_of(app) as client:
        assert client.head("/").content == b""


def test_a_body_is_one_cursor_however_often_it_is_iterated(running: InProcessApp, steps: StepApp) -> None:
    async def ask() -> None:
        async with async_client_of(running) as client, client.stream("GET", "/x") as response:
            steps.permits.release(2)
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)
            assert await anext(aiter(stream)) == b"chunk 0"
            assert await anext(aiter(stream)) == b"chunk 1"
            await stream.aclose()
            assert [chunk async for chunk in stream] == []

    asyncio.run(ask())


def test_an_async_request_body_is_passed_on() -> None:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        await answer(send, message["body"] + (b"" if message["more_body"] else b" whole"))

    async def parts() -> AsyncIterator[bytes]:
        yield b"in "
        yield b"parts"

    async def ask(app: InProcessApp) -> bytes:
        async with async_client_of(app) as client:
            return (await client.post("/", content=parts())).content

    with InProcessApp(http_only(handler)) as app:
        assert asyncio.run(ask(app)) == b"in parts whole"
