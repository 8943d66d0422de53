"""A process that runs turns, and is killed while it writes, or has no room to write: `child.py serve|full …`.

`serve` reads commands from its input, one JSON object a line, and forks for each, so that a test can kill many
processes in a short time: {"do": "die", "path": …, "after": bytes, "at_most": bytes}, {"do": "run", "path": …} and
{"do": "reap", "pid": …}. It answers each with a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.faults.bench import Script, Seen, Traced, turn
from tests.faults.conversations import TWO_CALLS, Conversation, Weather, approval_of, registry, spoken

from reference_stack.agent.events import TurnEnd, TurnFailed
from reference_stack.agent.records import Record, items_of
from reference_stack.agent.resume import open_rollout
from reference_stack.agent.rollout import RolloutError, RolloutWriter
from reference_stack.agent.rollout_file import RolloutFile
from reference_stack.agent.rollout_reading import HEADER, read_rollout
from reference_stack.agent.session import Session

CONFIRMED = ".confirmed"
TURNS = 40  # that would need far more room than there is


class DyingFile(RolloutFile):
    """Takes at most so many bytes at once, and has its process killed in the middle of a write, after so many."""

    def __init__(self, path: Path, *, after: int, at_most: int) -> None:
        super().__init__(path)
        self._left = after
        self._at_most = at_most

    def write(self, data: bytes) -> int:
        """As a file does, until it is over."""
        taken = super().write(data[: min(self._left, self._at_most)]) if self._left else 0
        self._left -= taken
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        return taken


class Confirming:
    """A rollout that says in a file beside it how many records were confirmed."""

    def __init__(self, inner: RolloutWriter, path: Path) -> None:
        self._inner = inner
        self._report = os.open(path.with_suffix(CONFIRMED), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def append(self, *records: Record) -> None:
        """Keep them, and say so."""
        await self._inner.append(*records)
        os.write(self._report, b"." * len(records))


async def turns(path: Path, writer: RolloutWriter, number: int) -> None:
    """Run the conversation with two calls so many times."""
    session, rollout = Session("session"), Confirming(writer, path)
    for count in range(number):
        await turn(
            TWO_CALLS,
            session,
            model=Traced(Script(TWO_CALLS.script)),
            plan=registry(Weather()).plan(),
            approval=approval_of(TWO_CALLS),
            rollout=rollout,
            emit=Seen().emit,
            turn_id=f"turn_{count}",
        )


async def die(path: Path, after: int, at_most: int) -> None:
    """Be killed after so many bytes."""
    file = DyingFile(path, after=after, at_most=at_most)
    file.open()
    writer = RolloutWriter(file)
    await writer.append(HEADER)
    await turns(path, writer, 1)


async def run(path: Path) -> None:
    """Write until somebody kills us."""
    writer, _ = await open_rollout(path)
    await turns(path, writer, 10_000)


def serve() -> None:
    """Do what is asked for."""
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["do"]:
            case "die":
                pid = _forked(die(Path(asked["path"]), asked["after"], asked["at_most"]))
                _say(status=os.waitpid(pid, 0)[1])
            case "run":
                _say(pid=_forked(run(Path(asked["path"]))))
            case _:
                _say(status=os.waitpid(asked["pid"], 0)[1])


def _forked(work: Any) -> int:
    pid = os.fork()
    if pid:
        work.close()
        return pid
    try:
        asyncio.run(work)
    finally:
        os._exit(0)


def _say(**told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def big(number: int) -> Conversation:
    """A turn that needs room."""
    return Conversation(name="big", says=f"{number} " * 700, script=(spoken("Noted ", f"{number}."),))


async def full(folder: Path, how: str) -> None:
    """Write until there is no room, make room, and go on: `retry` with the same writer, `reopen` with a new one."""
    filler, path = folder / "filler", folder / "rollout.jsonl"
    filler.write_bytes(b"x" * 40_000)
    writer, _ = await open_rollout(path)
    session, seen, number, kept = Session("session"), Seen(), 0, b""
    while not isinstance(session.terminal, TurnFailed) and number < TURNS:
        kept, seen = path.read_bytes(), Seen()
        await big_turn(session, number, writer, seen)
        number += 1
    whole = items_of(read_rollout(path).records)
    failed = session.terminal
    residue: dict[str, object] = {
        "terminal": failed and failed.type,
        "turns before": number > 1,
        "what was kept before is still there": path.read_bytes().startswith(kept),
        "what was kept before can be read": whole == session.history[: len(whole)],
        "the reason": failed.reason.partition(".")[0] if isinstance(failed, TurnFailed) else None,
    }
    filler.unlink()
    if how == "retry":
        await writer.flush()
    else:
        await writer.aclose()
        writer, found = await open_rollout(path)
        session = Session("session", found.history)
    after = await big_turn(session, number, writer, Seen())
    await writer.aclose()
    residue |= {
        "next turn": after.type,
        "pending": session.pending,
        "rollout is history": items_of(read_rollout(path).records) == session.history,
        "files": sorted(os.listdir(folder)),  # noqa: PTH208 - names
    }
    _say(events=seen.told, residue=residue)


async def big_turn(session: Session, number: int, writer: RolloutWriter, seen: Seen) -> TurnEnd:
    """Run a turn that needs room."""
    conversation = big(number)
    return await turn(
        conversation,
        session,
        model=Traced(Script(conversation.script)),
        plan=registry(Weather()).plan(),
        approval=approval_of(conversation),
        rollout=writer,
        emit=seen.emit,
        turn_id=f"turn_{number}",
    )


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        try:
            asyncio.run(full(Path(sys.argv[2]), sys.argv[3]))
        except RolloutError as error:
            _say(events=[], residue={"error": str(error)})
