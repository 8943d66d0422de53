"""What a session tells of a turn while it runs. Each turn has one `turn_started` and then one of the three ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from reference_stack.agent.failures import AgentError
from reference_stack.agent.model import Item


class ToolStatus(Enum):
    """How a call ended: `unknown` where the turn's plan has no tool of that name."""

    OK = "ok"
    DENIED = "denied"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnStarted:
    """The user's items are in the history."""

    type: ClassVar[str] = "turn_started"
    turn_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """A piece of a message that is being written; nothing of it is in the history yet.

    part: which message of this answer it is, from 0.
    """

    type: ClassVar[str] = "text_delta"
    turn_id: str
    text: str
    part: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageAdded:
    """A whole message is in the history. `items`: as in the history, where that is more than the text."""

    type: ClassVar[str] = "message"
    turn_id: str
    text: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCalled:
    """A call is in the history, and open. `items`: as for a message."""

    type: ClassVar[str] = "tool_called"
    turn_id: str
    call_id: str
    name: str
    arguments: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEnded:
    """The result of a call is in the history."""

    type: ClassVar[str] = "tool_ended"
    turn_id: str
    call_id: str
    status: ToolStatus
    output: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnCompleted:
    """The turn ended well. `waiting_for` names the calls whose results the caller has to bring."""

    type: ClassVar[str] = "turn_completed"
    turn_id: str
    usage: Mapping[str, Any] | None = None
    waiting_for: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnFailed:
    """The turn could not go on. `error` is what `reason` was taken from, for whoever needs more than a sentence."""

    type: ClassVar[str] = "turn_failed"
    turn_id: str
    reason: str
    error: AgentError | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnAborted:
    """The turn was cancelled."""

    type: ClassVar[str] = "turn_aborted"
    turn_id: str
    reason: str


TurnEnd = TurnCompleted | TurnFailed | TurnAborted
SessionEvent = TurnStarted | TextDelta | MessageAdded | ToolCalled | ToolEnded | TurnEnd
# Returns when there was room for the event.
Emit = Callable[[SessionEvent], Awaitable[None]]
