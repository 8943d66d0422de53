"""Model traces: what a model client streamed, recorded below an agent's own types, and replayed without a model.

The wire recorder keeps HTTP; this keeps the conversation of one client, whatever it speaks. See docs/trace.md, which
has the format too.

```python
import asyncio
from collections.abc import AsyncIterator

from stackproof.trace import (
    Cancellation,
    CancelToken,
    Completed,
    Message,
    ModelClient,
    ModelEvent,
    ModelRequest,
    RecordingModelClient,
    ReplayModelClient,
)


class Live:
    # Stands for the client that asks a provider.
    async def stream(self, request: ModelRequest, cancel: Cancellation) -> AsyncIterator[ModelEvent]:
        yield Message(text="It rains in Oslo.")
        yield Completed(usage={"output_tokens": 6})


async def ask(client: ModelClient) -> list[str]:
    request = ModelRequest(instructions="Be brief.", history=({"role": "user", "content": "Oslo?"},))
    return [event.text async for event in client.stream(request, CancelToken()) if isinstance(event, Message)]


recorded = asyncio.run(ask(RecordingModelClient(Live(), "weather.jsonl")))
with ReplayModelClient("weather.jsonl") as client:
    assert asyncio.run(ask(client)) == recorded
```
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
