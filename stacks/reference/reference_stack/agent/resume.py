"""Going on with a session that was written down, whether it ended or broke off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reference_stack.agent.items import ABORTED, function_call_output
from reference_stack.agent.model import Item
from reference_stack.agent.records import Record, items_of
from reference_stack.agent.rollout import RolloutWriter
from reference_stack.agent.rollout_file import RolloutFile
from reference_stack.agent.rollout_reading import HEADER, ReadRollout, read_rollout
from reference_stack.agent.uninterrupted import in_thread


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumed:
    """A session as its rollout has it.

    history: its items as they were written down. turn_id, terminal: its last turn and how that ended (`turn_completed`,
    …); terminal is None where the turn broke off, both are None before the first one. said: what the user should know.
    """

    history: tuple[Item, ...]
    turn_id: str | None
    terminal: str | None
    said: str | None

    @property
    def prompt(self) -> tuple[Item, ...]:
        """The history as a model may see it."""
        return for_prompt(self.history)


def resumed(path: Path) -> Resumed:
    """The session in the file at `path`, which is only read. Raises RolloutError."""
    return _session(read_rollout(path))


async def open_rollout(path: Path) -> tuple[RolloutWriter, Resumed]:
    """A writer that goes on where the file ends, and the session so far; a file that is not there begins.

    Raises RolloutError, RolloutBusyError where somebody else writes it.
    """
    file = RolloutFile(path)
    try:
        found = await in_thread(_opened, file)
        writer = RolloutWriter(file, begin=found.lines)
        if not found.lines:
            await writer.append(HEADER)
    except BaseException:
        file.close()
        raise
    return writer, _session(found)


def for_prompt(history: Sequence[Item]) -> tuple[Item, ...]:
    """The history with a result for each call that has none: a model's API refuses a call without one.

    It says `aborted`, stands where the results of that step end, and is for this prompt only: what really came of the
    call is not known, so nobody writes it down.
    """
    unanswered = _unanswered(history)
    prompt: list[Item] = []
    waiting: list[Item] = []
    for position, item in enumerate(history):
        if item.get("type") not in ("function_call", "function_call_output"):
            prompt += waiting
            waiting = []
        prompt.append(item)
        if position in unanswered:
            waiting.append(function_call_output(item["call_id"], ABORTED))
    return (*prompt, *waiting)


def _unanswered(history: Sequence[Item]) -> frozenset[int]:
    """Where the calls stand that have no result."""
    calls: dict[object, int] = {}
    lost: set[int] = set()
    for position, item in enumerate(history):
        match item.get("type"):
            case "function_call":
                # Some providers count their calls anew in each step: an id may come again.
                if item["call_id"] in calls:
                    lost.add(calls[item["call_id"]])
                calls[item["call_id"]] = position
            case "function_call_output":
                calls.pop(item["call_id"], None)
            case _:
                pass
    return frozenset(lost | set(calls.values()))


def _opened(file: RolloutFile) -> ReadRollout:
    file.open()
    return replace(read_rollout(file.path), dropped=file.dropped)


def _session(found: ReadRollout) -> Resumed:
    turn_id, terminal = _last_turn(found.records)
    return Resumed(history=items_of(found.records), turn_id=turn_id, terminal=terminal, said=found.said)


def _last_turn(records: Iterable[Record]) -> tuple[str | None, str | None]:
    turn_id: str | None = None
    terminal: str | None = None
    for record in records:
        if record["record"] == "turn":
            turn_id = record["turn_id"]
            terminal = None if record["event"] == "turn_started" else record["event"]
    return turn_id, terminal
