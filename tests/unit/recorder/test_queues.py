"""A worker that outlives a test works for whoever put its job into the queue, and nobody else changes sides."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from stackproof.recorder import queues, scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, Scope

A, B = (Scope(name=f"tests/a.py::test_{name}", test_id=f"tests/a.py::test_{name}") for name in "ab")


@pytest.fixture
def brain(bench: Any) -> Iterator[Any]:
    """A recorder, with queues patched as an installation does."""
    made = bench.brain(Mode.REPLAY)
    undo = queues.carry(lambda: made)
    yield made
    undo()


def _put(jobs: Any, item: Any, owner: Scope | None) -> None:
    with scope.use(owner):
        jobs.put_nowait(item)


def _served(inside: Scope | None, *owners: Scope | None) -> list[Any]:
    """Whose the jobs of `owners` are to a worker of asyncio that was made `inside` a scope."""

    async def serve() -> list[Any]:
        jobs: asyncio.Queue[int] = asyncio.Queue()
        seen: list[Any] = []

        async def work() -> None:
            for _ in owners:
                await jobs.get()
                seen.append(scope.carried())

        with scope.use(inside):
            worker = asyncio.create_task(work())
        await asyncio.sleep(0)
        for number, owner in enumerate(owners):
            _put(jobs, number, owner)
            await asyncio.sleep(0.01)
        await worker
        return seen

    return asyncio.run(serve())


@pytest.mark.parametrize("inside", [None, STACK])
def test_a_worker_made_at_the_start_is_in_the_scope_of_each_job(brain: Any, inside: Scope | None) -> None:
    assert _served(inside, A, B, A) == [A, B, A]


def test_what_a_test_s_request_has_started_stays_in_it(brain: Any) -> None:
    assert _served(A, B, B) == [A, A]
    brain.ledger.end(A)
    assert _served(A, B) == [A]


def test_after_a_job_of_nobody_nothing_is_left_of_the_one_before(brain: Any) -> None:
    assert _served(None, A, None, B) == [A, None, B]
    assert _served(STACK, A, None, B) == [A, STACK, B]
    assert _served(A, None) == [A]


def test_threads_take_jobs_in_their_scopes(brain: Any) -> None:
    jobs: queue.Queue[str | None] = queue.Queue()
    seen: dict[str, Scope | None] = {}

    def work() -> None:
        while (item := jobs.get()) is not None:
            seen[item] = scope.carried()

    worker = threading.Thread(target=work)
    worker.start()
    for item, owner in (("a", A), ("b", B), ("nobody's", None)):
        _put(jobs, item, owner)
    jobs.put(None)
    worker.join(60)
    assert seen == {"a": A, "b": B, "nobody's": None}


def test_the_main_thread_takes_results_and_belongs_to_nobody_after(brain: Any) -> None:
    results: queue.Queue[str] = queue.Queue()
    _put(results, "done", A)
    assert results.get() == "done"
    assert scope.carried() is None


@pytest.mark.parametrize("kind", [queue.Queue, queue.LifoQueue, queue.PriorityQueue])
def test_equal_items_are_told_apart_by_their_order(brain: Any, kind: type[Any]) -> None:
    jobs = kind(maxsize=2)
    for owner in (A, B):
        _put(jobs, 7, owner)
    with pytest.raises(queue.Full):
        _put(jobs, 7, A)
    seen = []

    def work() -> None:
        for _ in range(2):
            jobs.get()
            seen.append(scope.carried())

    worker = threading.Thread(target=work)
    worker.start()
    worker.join(60)
    assert seen == [A, B]
    assert jobs.empty()


def test_a_full_queue_of_asyncio_forgets_what_it_refused(brain: Any) -> None:
    async def fill() -> None:
        jobs: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
        _put(jobs, "x", A)
        with pytest.raises(asyncio.QueueFull):
            _put(jobs, "y", B)
        assert jobs.get_nowait() == "x"
        _put(jobs, "y", A)
        assert jobs.get_nowait() == "y"
        assert scope.carried() == A

    asyncio.run(fill())


def test_the_undo_leaves_queues_as_they_were(bench: Any) -> None:
    before = queue.Queue.put, queue.Queue.get, asyncio.Queue.put_nowait, asyncio.Queue.get_nowait
    queues.carry(lambda: None)()
    assert (queue.Queue.put, queue.Queue.get, asyncio.Queue.put_nowait, asyncio.Queue.get_nowait) == before
