"""What ends a turn before its time. Every message is a sentence for the caller of the stack."""

from __future__ import annotations


class AgentError(Exception):
    """An expected end of what was asked for."""


class TurnCancelledError(AgentError):
    """The turn was cancelled; the text is the reason."""


class StepsExhaustedError(AgentError):
    """The model still wanted tools after as many answers as a turn may have."""


class ModelError(AgentError):
    """The model's answer did not come, or not whole. Nothing of it belongs into the history."""


class ModelUnreachableError(ModelError):
    """No connection, or one that was lost or timed out before the answer's first event."""


class ModelStatusError(ModelError):
    """The provider answered with an HTTP error status. `body` is its JSON, or its text where it sent none."""

    def __init__(self, text: str, *, status: int, body: object) -> None:
        super().__init__(text)
        self.status = status
        self.body = body


class DamagedStreamError(ModelError):
    """What came is not a stream of events as the API describes it: bytes, JSON or fields are wrong."""


class ProviderEventError(ModelError):
    """The provider said that it failed (`error`, `response.failed`). `code` is its own word for it."""

    def __init__(self, text: str, *, code: str | None = None) -> None:
        super().__init__(text)
        self.code = code


class IncompleteAnswerError(ModelError):
    """The provider said that it stopped before the end (`response.incomplete`). `reason` is its own word for why."""

    def __init__(self, text: str, *, reason: str | None = None) -> None:
        super().__init__(text)
        self.reason = reason


class UnfinishedStreamError(ModelError):
    """The stream ended, or its connection was lost, before an event that says that the answer is whole."""
