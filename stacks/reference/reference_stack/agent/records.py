"""What a rollout keeps of a session, one JSON object a line: its items, and where its turns begin and end.

`{"record": "item", "turn_id": …, "item": {…}}` is an item of the history, `{"record": "turn", "turn_id": …, "event":
"turn_started" | "turn_completed" | "turn_failed" | "turn_aborted", "reason"?: …}` a mark beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from reference_stack.agent.events import TurnAborted, TurnCompleted, TurnFailed, TurnStarted
from reference_stack.agent.model import Item

Record = Mapping[str, Any]


class Rollout(Protocol):
    """Where the records go."""

    async def append(self, *records: Record) -> None:
        """Returns when all of them are kept. Raises where they could not be; what was kept before is whole."""
        ...


def of_item(turn_id: str, item: Item) -> Record:
    """The record of an item."""
    return {"record": "item", "turn_id": turn_id, "item": dict(item)}


def of_mark(event: TurnStarted | TurnCompleted | TurnFailed | TurnAborted) -> Record:
    """The record of a turn's begin or end."""
    mark: dict[str, Any] = {"record": "turn", "turn_id": event.turn_id, "event": event.type}
    if isinstance(event, TurnFailed | TurnAborted):
        mark["reason"] = event.reason
    return mark


def items_of(records: Iterable[Record]) -> tuple[Item, ...]:
    """The history that the records keep."""
    return tuple(record["item"] for record in records if record["record"] == "item")


class Unwritten:
    """A rollout that nobody wants to have."""

    async def append(self, *records: Record) -> None:
        """They are gone."""
