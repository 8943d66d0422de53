"""A call made anywhere below a test belongs to that test, and one that belongs to nobody is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from stackproof.recorder import scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, UNKNOWN, Scope

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider

_A = Scope(name="tests/a.py::test_a", test_id="tests/a.py::test_a")
_B = Scope(name="tests/a.py::test_b", test_id="tests/a.py::test_b")


def _by_thread(look: Callable[[], Any]) -> None:
    thread = threading.Thread(target=look)
    thread.start()
    thread.join(60)


def _by_thread_subclass(look: Callable[[], Any]) -> None:
    class Mine(threading.Thread):
        def run(self) -> None:
            look()

    thread = Mine()
    thread.start()
    thread.join(60)


def _by_timer(look: Callable[[], Any]) -> None:
    timer = threading.Timer(0.01, look)
    timer.start()
    timer.join(60)


def _by_a_thread_of_a_thread(look: Callable[[], Any]) -> None:
    _by_thread(lambda: _by_thread(look))


def _by_pool(look: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(look).result(60)


def _by_pool_map(look: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: look(), range(1)))


def _by_run_in_executor(look: Callable[[], Any]) -> None:
    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, look)

    asyncio.run(main())


def _by_asyncio_to_thread(look: Callable[[], Any]) -> None:
    asyncio.run(asyncio.to_thread(look))


def _by_task(look: Callable[[], Any]) -> None:
    async def main() -> None:
        async def inner() -> None:
            await asyncio.sleep(0)
            look()

        await asyncio.gather(asyncio.create_task(inner()))

    asyncio.run(main())


def _by_call_later(look: Callable[[], Any]) -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(0, look)
        await asyncio.sleep(0.01)

    asyncio.run(main())


def _by_anyio_thread(look: Callable[[], Any]) -> None:
    anyio.run(anyio.to_thread.run_sync, look)


def _by_anyio_group(look: Callable[[], Any]) -> None:
    async def main() -> None:
        async def inner() -> None:
            look()

        async with anyio.create_task_group() as group:
            group.start_soon(inner)

    anyio.run(main)


def _by_anyio_portal(look: Callable[[], Any]) -> None:
    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(look)


_WAYS = [value for name, value in list(globals().items()) if name.startswith("_by_")]
each_way = pytest.mark.parametrize("way", _WAYS, ids=lambda way: way.__name__.removeprefix("_by_"))


@each_way
def test_the_scope_goes_along(bench: Bench, way: Callable[[Callable[[], Any]], None]) -> None:
    seen: list[Scope | None] = []
    with bench.run(Mode.REPLAY, owner=_A):
        way(lambda: seen.append(scope.current()))
    assert seen == [_A]


def test_a_pools_thread_works_for_whoever_submits(bench: Bench) -> None:
    with bench.run(Mode.REPLAY, owner=None), ThreadPoolExecutor(1) as pool:
        with scope.use(_A):
            assert pool.submit(scope.current).result(60) == _A
        with scope.use(_B):
            assert pool.submit(scope.current).result(60) == _B
        assert pool.submit(scope.current).result(60) is None, "the thread was started by test a, and is not its own"


def test_concurrent_tasks_keep_their_own(bench: Bench) -> None:
    async def one(owner: Scope, turns: int) -> list[Scope | None]:
        with scope.use(owner):
            seen = []
            for _ in range(turns):
                await asyncio.sleep(0)
                seen.append(await asyncio.get_running_loop().run_in_executor(None, scope.current))
            return seen

    async def main() -> list[list[Scope | None]]:
        return list(await asyncio.gather(one(_A, 5), one(_B, 5)))

    with bench.run(Mode.REPLAY, owner=None):
        assert asyncio.run(main()) == [[_A] * 5, [_B] * 5]


def test_only_our_variable_travels(bench: Bench) -> None:
    from contextvars import ContextVar

    theirs: ContextVar[str] = ContextVar("theirs", default="default")
    theirs.set("set")
    seen: list[str] = []
    with bench.run(Mode.REPLAY, owner=_A):
        _by_thread(lambda: seen.append(theirs.get()))
        with ThreadPoolExecutor(1) as pool:
            seen.append(pool.submit(theirs.get).result(60))
    assert seen == ["default", "default"], "the program under test sees what it would have seen without us"


def test_a_context_made_before_the_test_falls_back_to_the_process(bench: Bench) -> None:
    ask, answer = threading.Event(), threading.Event()
    seen: list[Scope | None] = []

    def worker() -> None:
        ask.wait(60)
        seen.append(scope.current())
        answer.set()

    with bench.run(Mode.REPLAY, owner=None):
        thread = threading.Thread(target=worker)
        thread.start()
        scope.set_process_scope(_A)
        ask.set()
        assert answer.wait(60)
        thread.join(60)
        scope.set_process_scope(None)
    assert seen == [_A]


def test_a_call_without_scope_while_a_request_is_served_is_a_named_error(
    bench: Bench, provider: LoopbackProvider
) -> None:
    import httpx2

    with bench.run(Mode.RECORD, owner=None) as brain:
        brain.requests_with_scope += 1
        answer = httpx2.post(f"{provider.url}/x", trust_env=False)
        brain.requests_with_scope -= 1
        (miss,) = brain.ledger.read("misses")[0]
    assert answer.status_code == 424
    assert miss["kind"] == "no-scope"
    assert "outside of any test's context" in miss["message"]
    assert provider.asked == []


def test_a_call_below_a_request_without_id_is_a_named_error(bench: Bench, provider: LoopbackProvider) -> None:
    import httpx2

    with bench.run(Mode.RECORD, owner=None) as brain, scope.use(UNKNOWN):
        answer = httpx2.post(f"{provider.url}/x", trust_env=False)
        (miss,) = brain.ledger.read("misses")[0]
    assert answer.status_code == 424
    assert "carried no test id" in miss["message"]
    assert provider.asked == []


def test_a_call_while_nothing_is_served_belongs_to_the_stack(bench: Bench, provider: LoopbackProvider) -> None:
    import httpx2

    with bench.run(Mode.RECORD, owner=None) as brain:
        httpx2.post(f"{provider.url}/x", trust_env=False)
        brain.store.promote(STACK, replace=True)
    (path,) = bench.files()
    assert path.parent.name == "common"
    with bench.run(Mode.REPLAY, owner=None):
        for _ in range(3):
            assert httpx2.post(f"{provider.url}/x", trust_env=False).json() == {"ok": True}, "the last answer stays"
    assert len(provider.asked) == 1


def test_a_call_after_its_test_is_told_as_late(bench: Bench, provider: LoopbackProvider) -> None:
    import httpx2

    with bench.run(Mode.RECORD, owner=_A) as brain:
        httpx2.post(f"{provider.url}/x", trust_env=False)
        brain.ledger.end(_A)
        httpx2.post(f"{provider.url}/x", trust_env=False)
        assert [call.get("late", False) for call in brain.ledger.read("calls")[0]] == [False, True]
