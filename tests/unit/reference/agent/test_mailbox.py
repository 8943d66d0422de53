"""A mailbox holds no more than it may, keeps the order, and loses or doubles nothing when tasks are cancelled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from reference_stack.agent.mailbox import Mailbox, MailboxClosedError

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 120))


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_mailbox_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one item, not 0"):
        Mailbox[int](0)


def test_items_come_out_in_the_order_they_went_in() -> None:
    async def work() -> list[int]:
        box = Mailbox[int](3)
        for number in (1, 2, 3):
            await box.put(number)
        return [await box.get() for _ in range(3)]

    assert run(work()) == [1, 2, 3]


def test_who_puts_into_a_full_mailbox_waits_until_something_was_taken() -> None:
    async def work() -> None:
        box = Mailbox[int](1)
        await box.put(1)
        producer = asyncio.create_task(box.put(2))
        await settled()
        assert (len(box), box.producers, producer.done()) == (1, 1, False)
        assert await box.get() == 1
        await producer
        assert (len(box), box.producers) == (1, 0)
        assert await box.get() == 2

    run(work())


def test_a_newcomer_does_not_take_the_place_of_one_who_waited() -> None:
    async def work() -> list[int]:
        box = Mailbox[int](1)
        await box.put(1)
        waited = asyncio.create_task(box.put(2))
        await settled()
        taken = [await box.get()]
        newcomer = asyncio.create_task(box.put(3))
        taken += [await box.get(), await box.get()]
        await asyncio.gather(waited, newcomer)
        return taken

    assert run(work()) == [1, 2, 3]


def test_a_newcomer_does_not_take_the_item_of_one_who_waited() -> None:
    async def work() -> None:
        box = Mailbox[int](2)
        waited = asyncio.create_task(box.get())
        await settled()
        await box.put(1)
        newcomer = asyncio.create_task(box.get())
        await settled()
        assert await waited == 1
        assert not newcomer.done()
        await box.put(2)
        assert await newcomer == 2

    run(work())


def test_a_cancelled_put_has_put_nothing_and_keeps_nobody_waiting() -> None:
    async def work() -> None:
        box = Mailbox[int](1)
        await box.put(1)
        first, second = asyncio.create_task(box.put(2)), asyncio.create_task(box.put(3))
        await settled()
        assert await box.get() == 1
        # Its turn has come, and it is cancelled before it could use it.
        first.cancel()
        await asyncio.wait_for(second, 60)
        assert first.cancelled()
        assert await box.get() == 3
        assert (len(box), box.producers) == (0, 0)

    run(work())


def test_a_cancelled_get_has_taken_nothing_and_keeps_nobody_waiting() -> None:
    async def work() -> None:
        box = Mailbox[int](1)
        first, second = asyncio.create_task(box.get()), asyncio.create_task(box.get())
        await settled()
        await box.put(1)
        first.cancel()
        assert await asyncio.wait_for(second, 60) == 1
        assert first.cancelled()
        assert (len(box), box.consumers) == (0, 0)

    run(work())


def test_what_is_in_a_closed_mailbox_can_be_had_and_nothing_more() -> None:
    async def work() -> None:
        box = Mailbox[int](2)
        await box.put(1)
        box.close()
        box.close()
        with pytest.raises(MailboxClosedError):
            await box.put(2)
        assert await box.get() == 1
        with pytest.raises(MailboxClosedError):
            await box.get()
        assert box.closed

    run(work())


def test_closing_ends_the_waits_of_both_sides() -> None:
    async def work() -> None:
        full, empty = Mailbox[int](1), Mailbox[int](1)
        await full.put(1)
        waiting = [asyncio.create_task(full.put(2)), asyncio.create_task(empty.get())]
        await settled()
        full.close()
        empty.close()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(result) for result in results] == [MailboxClosedError, MailboxClosedError]
        assert (len(full), full.producers, empty.consumers) == (1, 0, 0)

    run(work())


def test_a_put_whose_turn_came_before_the_mailbox_was_closed_is_refused_all_the_same() -> None:
    async def work() -> None:
        box = Mailbox[int](1)
        await box.put(1)
        waiting = asyncio.create_task(box.put(2))
        await settled()
        assert await box.get() == 1
        box.close()
        with pytest.raises(MailboxClosedError):
            await waiting
        assert len(box) == 0

    run(work())


def test_the_last_item_of_a_closed_mailbox_is_for_the_next_one_when_its_taker_is_cancelled() -> None:
    async def work() -> None:
        box = Mailbox[int](1)
        taker = asyncio.create_task(box.get())
        await settled()
        await box.put(1)
        box.close()
        heir, late = asyncio.create_task(box.get()), asyncio.create_task(box.get())
        taker.cancel()
        assert await heir == 1
        with pytest.raises(MailboxClosedError):
            await late

    run(work())


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_lost_or_doubled_whoever_is_cancelled(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a schedule, not a secret

    async def work() -> None:
        box = Mailbox[int](chance.randint(1, 3))
        put: list[int] = []
        taken: list[int] = []

        async def produce(number: int) -> None:
            await box.put(number)
            put.append(number)

        async def consume() -> None:
            taken.append(await box.get())

        tasks: list[asyncio.Task[None]] = []
        for number in range(80):
            tasks.append(asyncio.create_task(produce(number) if chance.random() < 0.5 else consume()))
            if chance.random() < 0.3:
                chance.choice(tasks).cancel()
            for _ in range(chance.randint(0, 2)):
                await asyncio.sleep(0)
            assert len(box) <= box.capacity
        await settled()
        box.close()
        with suppress(MailboxClosedError):
            while True:
                await consume()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        allowed = (asyncio.CancelledError, MailboxClosedError)
        assert [result for result in results if result is not None and not isinstance(result, allowed)] == []
        assert sorted(taken) == sorted(put)
        assert taken == put

    run(work())
