"""The one thing that is recorded and replayed: a client that streams a model's answer, and what cancels it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from stackproof.trace.errors import TraceCancelledError
from stackproof.trace.events import ModelEvent

Item = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """One request of a conversation.

    history: everything said so far, oldest first, as the provider's input items (JSON objects). tools: the tools as
    they stand in the request on the wire. step_sequence: the number of this request in its turn or conversation.
    tool_generation: which state of the tool catalogue `tools` is. These and the instructions are compared in replay;
    `model` is written down to be read, `options` are only passed on.
    """

    instructions: str | None
    history: tuple[Item, ...]
    tools: tuple[Item, ...] = ()
    step_sequence: int = 0
    tool_generation: int = 0
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


class Cancellation(Protocol):
    """What a caller hands in to be able to end a stream. Any token of this shape does."""

    @property
    def cancelled(self) -> bool:
        """Whether the caller has given up."""

    def check(self) -> None:
        """Raise the token's own error once the caller has given up."""


class ModelClient(Protocol):
    """Anything that answers a request with a stream of events, of which `Completed` is the last."""

    def stream(self, request: ModelRequest, cancel: Cancellation) -> AsyncIterator[ModelEvent]:
        """The events of the answer, as they come. Errors are the client's own."""


@dataclass(kw_only=True, slots=True)
class CancelToken:
    """The plainest cancellation: a flag and a reason, set from anywhere."""

    cancelled: bool = False
    reason: str = ""

    def cancel(self, reason: str = "cancelled by the caller") -> None:
        """End streams that look at this token; the first reason stays."""
        if not self.cancelled:
            self.reason = reason
            self.cancelled = True

    def check(self) -> None:
        """TraceCancelledError once `cancel` was called."""
        if self.cancelled:
            raise TraceCancelledError(f"the stream was cancelled: {self.reason}")
