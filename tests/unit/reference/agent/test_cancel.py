"""A token is set once; work beside it ends with it, and is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from reference_stack.agent.cancel import CancelToken, unless_cancelled
from reference_stack.agent.failures import TurnCancelledError

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 120))


def test_the_first_reason_stays() -> None:
    async def work() -> tuple[str, str | None]:
        token = CancelToken()
        token.check()
        assert not token.cancelled
        asyncio.get_running_loop().call_soon(token.cancel, "first")
        told = await token.wait()
        token.cancel("second")
        return told, token.reason

    assert run(work()) == ("first", "first")


def test_a_set_token_says_why() -> None:
    async def work() -> None:
        token = CancelToken()
        token.cancel("enough")
        token.check()

    with pytest.raises(TurnCancelledError, match="enough"):
        run(work())


def test_work_that_ends_first_has_its_result() -> None:
    async def work() -> int:
        return await unless_cancelled(asyncio.sleep(0, 7), CancelToken())

    assert run(work()) == 7


def test_work_that_fails_fails() -> None:
    async def fails() -> None:
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        run(unless_cancelled(fails(), CancelToken()))


def test_work_is_ended_and_waited_for() -> None:
    ended = []

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleaned up")

    async def work() -> None:
        token = CancelToken()
        asyncio.get_running_loop().call_later(0.01, token.cancel, "enough")
        await unless_cancelled(slow(), token)

    with pytest.raises(TurnCancelledError, match="enough"):
        run(work())
    assert ended == ["cleaned up"]


def test_work_that_does_not_end_is_not_waited_for_for_ever() -> None:
    async def stubborn() -> None:
        for _ in range(20):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue

    async def work() -> None:
        token = CancelToken()
        token_later = asyncio.get_running_loop().call_later(0.01, token.cancel, "enough")
        try:
            await unless_cancelled(stubborn(), token, grace=0.05)
        finally:
            token_later.cancel()

    with pytest.raises(TurnCancelledError):
        run(work())


def test_nothing_is_begun_when_it_is_cancelled_already() -> None:
    begun = []

    async def begin() -> None:
        begun.append(1)

    async def work() -> None:
        token = CancelToken()
        token.cancel("before")
        await unless_cancelled(begin(), token)

    with pytest.raises(TurnCancelledError, match="before"):
        run(work())
    assert not begun


def test_a_cancelled_task_ends_its_work_too() -> None:
    ended = []

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(1)

    async def work() -> None:
        task = asyncio.create_task(unless_cancelled(slow(), CancelToken()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert ended == [1]
