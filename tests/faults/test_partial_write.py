"""A medium that takes a part of what it is given and then fails."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from tests.faults.bench import Seen, left, session_of, traced, turn
from tests.faults.conftest import Chance
from tests.faults.conversations import TWO_CALLS, Weather, approval_of, registry

from reference_stack.agent.records import Record, items_of
from reference_stack.agent.rollout import RolloutWriteError, RolloutWriter
from reference_stack.agent.session import Session
from stackproof.faults.claim import ClaimUnderTest

SCHEDULES = 60


@dataclass(kw_only=True, slots=True)
class Medium:
    """Takes bytes up to the place `fails_at`, then fails `failures` times and takes everything.

    at_most: bytes that it takes at once. elsewhere: writes that did not begin where the last one had to be left.
    """

    fails_at: int
    failures: int
    at_most: int
    kept: bytes = b""
    elsewhere: int = 0
    failed: int = 0
    _rest: bytes = field(default=b"", repr=False)

    def write(self, data: bytes) -> int:
        if not data.startswith(self._rest):
            self.elsewhere += 1
        room = len(data)
        if self.failed < self.failures:
            room = self.fails_at - len(self.kept)
            if room <= 0:
                self.failed += 1
                self._rest = data
                raise OSError(errno.EIO, "the medium is gone")
        taken = min(len(data), self.at_most, room)
        self.kept += data[:taken]
        self._rest = data[taken:]
        return taken

    def sync(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    @property
    def records(self) -> list[Record]:
        return [json.loads(line) for line in self.kept.splitlines()]


async def run(medium: Medium) -> tuple[Session, Seen]:
    writer = RolloutWriter(medium)
    session, seen = session_of(TWO_CALLS), Seen()
    await turn(
        TWO_CALLS,
        session,
        model=traced(TWO_CALLS),
        plan=registry(Weather()).plan(),
        approval=approval_of(TWO_CALLS),
        rollout=writer,
        emit=seen.emit,
    )
    while writer.unconfirmed:
        try:
            await writer.flush()
        except RolloutWriteError as error:
            assert "the medium is gone" in str(error)  # noqa: PT017 - it fails more than once
    return session, seen


def whole() -> bytes:
    """What a medium without a fault has."""
    medium = Medium(fails_at=0, failures=0, at_most=10**6)
    asyncio.run(run(medium))
    return medium.kept


def numbers(records: Iterable[Record]) -> list[int]:
    return [record["n"] for record in records]


@pytest.mark.claim("partial-write-retries-only-the-rest")
def test_what_a_medium_took_before_it_failed_is_not_written_again(claim: ClaimUnderTest, chance: Chance) -> None:
    good = whole()
    last = len(good) - len(good.splitlines(keepends=True)[-1])
    ends = [place for place in range(1, last) if good[place - 1 : place] == b"\n"]
    places = [0, *ends, *(place - 1 for place in ends), *(place + 1 for place in ends)]
    random = chance.random(0)
    places += [random.randrange(last) for _ in range(SCHEDULES)]

    async def work(place: int) -> None:
        medium = Medium(fails_at=place, failures=random.randint(1, 3), at_most=random.choice((1, 7, 100, 10**6)))
        session, seen = await run(medium)
        claim.observed(
            events=seen.told,
            residue={
                **left(session, medium.records),
                "numbers without a gap": numbers(medium.records) == list(range(len(medium.records))),
                "writes that began elsewhere": medium.elsewhere,
                "ends with a whole line": medium.kept.endswith(b"\n"),
                "kept before the fault": good.startswith(medium.kept[:place]),
                "the reason names the medium": "the medium is gone" in str(seen.told[-1]["reason"]),
            },
            seed=f"{chance.seed} {place}",
        )

    for place in places:
        asyncio.run(asyncio.wait_for(work(place), 5))


def test_a_turn_whose_last_mark_could_not_be_written_is_told_as_failed_and_its_items_are_whole() -> None:
    good = whole()
    medium = Medium(fails_at=len(good) - 10, failures=1, at_most=100)
    session, seen = asyncio.run(run(medium))
    assert [event.type for event in seen.events][-1] == "turn_failed"
    assert items_of(medium.records) == session.history
    assert numbers(medium.records) == list(range(len(medium.records)))
