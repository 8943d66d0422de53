"""A client that records another one: every event passes unchanged, and what ended well becomes a line of a trace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from stackproof.trace.appending import Appender
from stackproof.trace.client import Cancellation, ModelClient, ModelRequest
from stackproof.trace.errors import TraceError, UnknownEventError
from stackproof.trace.events import (
    Completed,
    JsonObject,
    MalformedEventError,
    ModelEvent,
    UnknownTypeError,
    decode,
    encode,
)
from stackproof.trace.exchange import Exchange, Why, to_json
from stackproof.trace.fingerprint import fingerprint_of, form_of, plain
from stackproof.trace.hiding import hidden, hidden_events, known_secrets


class RecordingModelClient:
    """Wraps `inner` and appends each exchange to the trace at `path` once its stream has ended well.

    Well means: the stream ended, or its caller left it, after the one `Completed`, its last event. A stream that broke,
    was cancelled or was left sooner is not written; with `partial=True` it is, marked as partial, with what arrived and
    why. Close a stream that you leave (`contextlib.aclosing`): only then is it known that you have left.

    conversation: a name for those who share a file; each replays its own exchanges. secrets: name → value of what must
    not be written; texts shaped like keys, and fields of names like `api_key`, are masked without being named.
    `written` counts lines, `left_out` says why exchanges were not written.

    Raises, when it is made: TraceFileError and its kin, TraceVersionError, DamagedTraceError for a file that nothing
    can be appended to. While streaming: UnfitValueError before the inner client is asked, UnknownEventError for an
    object that is no event, TraceFileError at the end of a stream that could not be written.
    """

    def __init__(
        self,
        inner: ModelClient,
        path: str | Path,
        *,
        conversation: str = "",
        secrets: Mapping[str, str] | None = None,
        partial: bool = False,
    ) -> None:
        self._inner, self._path, self._conversation, self._partial = inner, Path(path), conversation, partial
        self._secrets = known_secrets(secrets or {})
        self._appender = Appender(self._path)
        self.written = 0
        self.left_out: list[Why] = []

    async def stream(self, request: ModelRequest, cancel: Cancellation) -> AsyncIterator[ModelEvent]:
        """The inner client's events. The cancellation is looked at before the first and after each."""
        cancel.check()
        form = hidden(form_of(request), self._secrets)
        events: list[JsonObject] = []
        inner = self._inner.stream(request, cancel)
        try:
            async for event in inner:
                events.append(self._encoded(event))
                yield event
                if not _is_complete(events):
                    cancel.check()
        except GeneratorExit:
            self._keep(form, request.model, events, None if _is_complete(events) else Why.LEFT, "")
            raise
        except BaseException as failure:
            why = Why.BROKEN if isinstance(failure, Exception) and not cancel.cancelled else Why.CANCELLED
            error = f"{type(failure).__name__}: {failure}".removesuffix(": ")
            try:
                self._keep(form, request.model, events, why, error)
            except TraceError as trouble:
                failure.add_note(f"its partial trace could not be written: {trouble.message}")
            raise
        else:
            self._keep(form, request.model, events, None if _is_complete(events) else Why.UNFINISHED, "")
        finally:
            if (close := getattr(inner, "aclose", None)) is not None:
                await close()

    def _encoded(self, event: ModelEvent) -> JsonObject:
        try:
            made = encode(event)
        except (UnknownTypeError, MalformedEventError) as error:
            what = f"cannot keep what the client yielded: {error}"
            raise UnknownEventError(self._path, what, hint="yield events of stackproof.trace only") from None
        return {key: plain(value, f"{made['type']}.{key}") for key, value in made.items()}

    def _keep(self, form: JsonObject, model: str, events: list[JsonObject], why: Why | None, error: str) -> None:
        if why is not None and not self._partial:
            self.left_out.append(why)
            return
        exchange = Exchange(
            fingerprint=fingerprint_of(form),
            request=form,
            events=tuple(decode(event) for event in hidden_events(events, self._secrets)),
            conversation=self._conversation,
            model=str(hidden(model, self._secrets)),
            why=why,
            error=str(hidden(error, self._secrets)),
        )
        self._appender.append(to_json(exchange))
        self.written += 1


def _is_complete(events: list[JsonObject]) -> bool:
    """Whether the one `completed` has come, and come last."""
    return [event["type"] for event in events].count(Completed.type) == 1 and events[-1]["type"] == Completed.type
