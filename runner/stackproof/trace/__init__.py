"""Model traces: what a model client streamed, recorded below an agent's own types, and replayed without a model.

The wire recorder keeps HTTP; this keeps the conversation of one client, whatever it speaks. See docs/trace.md.
"""

from stackproof.trace.client import Cancellation, CancelToken, Item, ModelClient, ModelRequest
from stackproof.trace.contents import Contents, Line, read
from stackproof.trace.errors import (
    DamagedTraceError,
    MissingPackageError,
    PartialTraceError,
    TraceBusyError,
    TraceCancelledError,
    TraceError,
    TraceExhaustedError,
    TraceFileError,
    TraceLeftOverError,
    TraceMismatchError,
    TraceVersionError,
    UnfitValueError,
    UnknownEventError,
)
from stackproof.trace.events import Completed, Message, ModelEvent, TextDelta, ToolCall
from stackproof.trace.exchange import Exchange, Why
from stackproof.trace.recording import RecordingModelClient
from stackproof.trace.replay import ReplayModelClient

__all__ = [
    "CancelToken",
    "Cancellation",
    "Completed",
    "Contents",
    "DamagedTraceError",
    "Exchange",
    "Item",
    "Line",
    "Message",
    "MissingPackageError",
    "ModelClient",
    "ModelEvent",
    "ModelRequest",
    "PartialTraceError",
    "RecordingModelClient",
    "ReplayModelClient",
    "TextDelta",
    "ToolCall",
    "TraceBusyError",
    "TraceCancelledError",
    "TraceError",
    "TraceExhaustedError",
    "TraceFileError",
    "TraceLeftOverError",
    "TraceMismatchError",
    "TraceVersionError",
    "UnfitValueError",
    "UnknownEventError",
    "Why",
    "read",
]
