"""A client that answers from a trace: the same conversation, request by request, or a named error at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from stackproof.recordings.wording import counted
from stackproof.trace.client import Cancellation, ModelRequest
from stackproof.trace.contents import read
from stackproof.trace.errors import (
    PartialTraceError,
    TraceError,
    TraceExhaustedError,
    TraceLeftOverError,
)
from stackproof.trace.events import JsonObject, ModelEvent
from stackproof.trace.exchange import Exchange
from stackproof.trace.fingerprint import fingerprint_of, form_of
from stackproof.trace.hiding import hidden, known_secrets
from stackproof.trace.nearest import mismatch


class ReplayModelClient:
    """Serves the complete exchanges of the trace at `path` in their order, each to the request it was recorded for.

    The whole file is read when the client is made: TraceFileError, DamagedTraceError, UnknownEventError and
    TraceVersionError come before any answer. A file of an older version is read as if it had been migrated.

    An exchange is used up when its `Completed` was yielded: a request that was cancelled or left sooner may be sent
    again, as while recording, where such a stream left no line.

    As a context manager it calls `finish` at its end, so that an error that the code under test has swallowed, and a
    conversation that stopped early, are not overlooked. conversation, secrets: as given to `RecordingModelClient`.
    """

    def __init__(self, path: str | Path, *, conversation: str = "", secrets: Mapping[str, str] | None = None) -> None:
        self._path, self._conversation = Path(path), conversation
        self._secrets = known_secrets(secrets or {})
        found = read(self._path)
        if found.damage is not None:
            raise found.damage
        mine = [
            line for line in found.lines if line.exchange is not None and line.exchange.conversation == conversation
        ]
        self._whole = [line for line in mine if line.exchange is not None and line.exchange.why is None]
        self._parts = [line for line in mine if line.exchange is not None and line.exchange.why is not None]
        self._others = {line.exchange.conversation for line in found.lines if line.exchange is not None}
        self._next = 0
        self._failure: TraceError | None = None

    @property
    def remaining(self) -> int:
        """How many exchanges nobody has asked for yet."""
        return len(self._whole) - self._next

    async def stream(self, request: ModelRequest, cancel: Cancellation) -> AsyncIterator[ModelEvent]:
        """The recorded events. The cancellation is looked at before each of them.

        TraceMismatchError, TraceExhaustedError, PartialTraceError, UnfitValueError: before anything is yielded.
        """
        cancel.check()
        form = hidden(form_of(request), self._secrets)
        index = self._next
        exchange = self._expected(form, index)
        self._next, ended = index + 1, False
        try:
            for number, event in enumerate(exchange.events, 1):
                await _let_others_run()
                cancel.check()
                ended = number == len(exchange.events)
                yield event
        finally:
            if not ended and self._next == index + 1:
                self._next = index

    def finish(self) -> None:
        """Raise the first error of a stream again; TraceLeftOverError when exchanges are left."""
        if self._failure is not None:
            raise self._failure
        if self.remaining:
            line = self._whole[self._next].number
            raise TraceLeftOverError(
                f"the conversation ended with {counted(self.remaining, 'exchange')} of {len(self._whole)} left in "
                f"{self._path}, from line {line} on",
                hint="if it is meant to be shorter, record it anew",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()

    def _expected(self, form: JsonObject, index: int) -> Exchange:
        exchange = self._whole[index].exchange if index < len(self._whole) else None
        sent = fingerprint_of(form)
        if exchange is not None and exchange.fingerprint == sent:
            return exchange
        failure = self._partly(sent)
        if failure is None:
            failure = self._exhausted() if exchange is None else mismatch(self._path, form, index, self._whole)
        self._failure = self._failure or failure
        raise failure

    def _exhausted(self) -> TraceError:
        of = f" of the conversation {self._conversation!r}" if self._conversation else ""
        if self._others and not self._whole:
            of += f" (it has {', '.join(sorted(map(repr, self._others)))})"
        return TraceExhaustedError(
            f"{self._path} holds {counted(len(self._whole), 'complete exchange')}{of}, and request "
            f"{len(self._whole) + 1} was sent",
            hint="if the conversation is meant to be longer, record it anew",
        )

    def _partly(self, sent: str) -> TraceError | None:
        for line in self._parts:
            exchange = line.exchange
            if exchange is not None and exchange.why is not None and exchange.fingerprint == sent:
                events = counted(len(exchange.events), "event")
                return PartialTraceError(
                    f"the request was recorded only in part at {self._path}, line {line.number}: "
                    f"{exchange.why.value} after {events}",
                    hint="a partial exchange is kept to be read; record the conversation anew to replay it",
                )
        return None


async def _let_others_run() -> None:
    """Give other tasks of an asyncio loop a turn, as waiting for a model would: one of them may want to cancel."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return  # another framework, or none
    await asyncio.sleep(0)
