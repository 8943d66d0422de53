"""Answers of a model that are damaged or break off, over a real connection."""

from __future__ import annotations

import asyncio
import itertools
import socket

import pytest
from tests.faults.bench import Memory, Seen, left, others, session_of, turn
from tests.faults.conftest import Chance
from tests.faults.conversations import TWO_CALLS, Weather, approval_of, registry
from tests.faults.provider import (
    CALL,
    MESSAGE,
    Answer,
    End,
    Provider,
    answered,
    client_at,
    event,
    on_the_wire,
    provided,
    response,
)

from reference_stack.agent.model import ModelClient
from stackproof.faults.claim import ClaimUnderTest

PIECES = on_the_wire(answered(MESSAGE, CALL))
LAST = len(PIECES) - 1
ERROR = event({"type": "error", "code": "server_error", "message": "no"})
CLAIM = "broken-answer-completes-nothing"


def damaged(position: int, data: bytes) -> Answer:
    """The whole answer, with other bytes in the place of an event."""
    return Answer(pieces=(*PIECES[:position], data, *PIECES[position + 1 :]))


def before_the_end(*told: dict[str, object]) -> Answer:
    """The answer with these events in the place of its end."""
    return Answer(pieces=(*PIECES[:LAST], *(event(each) for each in told)))


ANSWERS = {
    **{f"lost after {number} events": Answer(pieces=PIECES[:number], end=End.LOST) for number in range(LAST + 1)},
    **{f"over after {number} events": Answer(pieces=PIECES[:number]) for number in range(LAST + 1)},
    **{f"event {number} is no JSON": damaged(number, PIECES[number][:-9] + b"\n\n") for number in range(LAST + 1)},
    **{f"event {number} is torn": Answer(pieces=(*PIECES[:number], PIECES[number][:-3])) for number in range(LAST + 1)},
    **{
        f"an error after {number} events": Answer(
            pieces=(
                *PIECES[:number],
                ERROR,
                *PIECES[number:],
            )
        )
        for number in range(LAST + 1)
    },
    "failed": before_the_end(
        {"type": "response.failed", "response": response("failed", error={"code": "server_error"})}
    ),
    "incomplete": before_the_end(
        {"type": "response.incomplete", "response": response("incomplete", incomplete_details={"reason": "length"})}
    ),
    "goes on after its end": Answer(pieces=(*PIECES, PIECES[2])),
    "half an event after its end": Answer(pieces=(*PIECES, PIECES[2][:-1])),
    "ends twice": Answer(pieces=(*PIECES, PIECES[LAST])),
    "ends with another item than was sent": Answer(pieces=(PIECES[0], PIECES[LAST])),
    "not UTF-8": damaged(2, b'data: {"type": "response.output_text.delta", "delta": "\xff"}\n\n'),
    "not an event": damaged(2, b"<html>\n\n"),
    "an event that is no object": damaged(2, b"data: 7\n\n"),
    "a call without an id": damaged(
        LAST - 1, event({"type": "response.output_item.done", "item": {**CALL, "call_id": None}})
    ),
    "two calls with one id": Answer(pieces=on_the_wire(answered(CALL, CALL))),
    "not a stream": Answer(pieces=PIECES, content_type="text/html"),
    "status 429": Answer(pieces=(b'{"error": {"message": "too many"}}',), status=429, content_type="application/json"),
    "status 500": Answer(pieces=(b"<html>",), status=500, content_type="text/html"),
    "nothing at all": Answer(pieces=()),
    "stalled at once": Answer(pieces=(), end=End.STALLED),
    "stalled": Answer(pieces=PIECES[:3], end=End.STALLED),
}


async def observe(claim: ClaimUnderTest, model: ModelClient, provider: Provider | None, seed: str | None) -> None:
    weather = Weather()
    session, memory, seen = session_of(TWO_CALLS), Memory(), Seen()
    before = asyncio.all_tasks()
    await turn(
        TWO_CALLS,
        session,
        model=model,
        plan=registry(weather).plan(),
        approval=approval_of(TWO_CALLS),
        rollout=memory,
        emit=seen.emit,
    )
    claim.observed(
        events=seen.told,
        residue={
            **left(session, memory.records),
            "history": [item.get("role", item["type"]) for item in session.history],
            "tool runs": weather.begun,
            "requests": 1 if provider is None else len(provider.asked),
            "answers that somebody still waits for": 0 if provider is None else await provider.settled(),
            "tasks": [name for name in await others(before) if name != Provider.TASK],
        },
        seed=seed,
    )


@pytest.mark.claim(CLAIM)
@pytest.mark.parametrize("fault", ANSWERS)
def test_an_answer_that_is_not_whole_fails_the_turn_and_leaves_nothing_of_it(claim: ClaimUnderTest, fault: str) -> None:
    async def work() -> None:
        patience = 0.3 if ANSWERS[fault].end is End.STALLED else 5
        async with provided(ANSWERS[fault], patience=patience) as (
            provider,
            client,
        ):
            await observe(claim, client, provider, None)

    asyncio.run(asyncio.wait_for(work(), 5))


@pytest.mark.claim(CLAIM)
def test_a_provider_that_is_not_there_fails_the_turn(claim: ClaimUnderTest) -> None:
    async def work() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets it, and it refuses
            async with client_at(taken.getsockname()[1]) as client:
                await observe(claim, client, None, None)

    asyncio.run(asyncio.wait_for(work(), 5))


@pytest.mark.claim(CLAIM)
def test_a_stream_cut_at_any_byte_fails_the_turn(claim: ClaimUnderTest, chance: Chance) -> None:
    whole = b"".join(PIECES)
    random = chance.random(0)

    async def work(cut: int, pieces: int, end: End) -> None:
        places = sorted({0, cut, *(random.randrange(cut + 1) for _ in range(pieces))})
        parts = tuple(whole[begin:end] for begin, end in itertools.pairwise(places))
        async with provided(Answer(pieces=tuple(filter(None, parts)), end=end)) as (provider, client):
            await observe(claim, client, provider, f"{chance.seed} {cut} {end.value}")

    for number in range(30):
        # The blank line behind the last event is its end.
        cut = random.randrange(len(whole) - 1)
        asyncio.run(asyncio.wait_for(work(cut, number % 7, random.choice((End.LOST, End.WHOLE))), 5))


def test_the_same_answer_unbroken_completes() -> None:
    async def work() -> None:
        spoken = Answer(pieces=on_the_wire(answered(MESSAGE)))
        async with provided(Answer(pieces=PIECES), spoken) as (provider, client):
            session, memory, seen, weather = session_of(TWO_CALLS), Memory(), Seen(), Weather()
            await turn(
                TWO_CALLS,
                session,
                model=client,
                plan=registry(weather).plan(),
                approval=approval_of(TWO_CALLS),
                rollout=memory,
                emit=seen.emit,
            )
            assert left(session, memory.records)["terminal"] == "turn_completed"
            assert weather.begun == ["call_1"]
            sent = provider.asked[1]["input"]
            assert [item["type"] for item in sent] == ["message", "message", "function_call", "function_call_output"]

    asyncio.run(asyncio.wait_for(work(), 5))
