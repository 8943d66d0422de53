"""A turn's events as those of a streamed Response.

Source: https://platform.openai.com/docs/api-reference/responses-streaming. An answer in one piece is what the last of
them carries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from reference_stack.agent.events import (
    MessageAdded,
    SessionEvent,
    TextDelta,
    ToolCalled,
    ToolEnded,
    ToolStatus,
    TurnAborted,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from reference_stack.agent.failures import IncompleteAnswerError, ProviderEventError
from reference_stack.ids import Kind, new_id
from reference_stack.response_object import response_object
from reference_stack.response_rewriting import Own

Told = dict[str, Any]


@dataclass(slots=True)
class _Open:
    """A message that is being written."""

    item_id: str
    place: int
    part: int
    text: str = ""


@dataclass(slots=True)
class Telling:
    """Makes the events of one response; `response` is what the last one carried.

    A call of a tool that is neither the caller's nor hosted is not shown: its result tells the model so.
    labels: of each hosted tool, its server. functions: the caller's. created_at: seconds since 1970.
    """

    own: Own
    labels: Mapping[str, str]
    functions: frozenset[str]
    created_at: int
    response: Told | None = None
    _output: list[Told] = field(default_factory=list)
    _open: deque[_Open] = field(default_factory=deque)
    _calls: dict[str, int] = field(default_factory=dict)
    _number: int = 0

    def begin(self) -> Iterator[Told]:
        """What comes first."""
        for kind in ("response.created", "response.in_progress"):
            yield self._told(kind, response=self._response("in_progress", []))
        for event in self.own.searching():
            yield self._told(**event)
        self._output += self.own.found

    def events(self, event: SessionEvent) -> Iterator[Told]:
        """What a session's event is to the caller; `response` is set with the last one."""
        match event:
            case TurnStarted():
                pass
            case TextDelta():
                yield from self._delta(event)
            case MessageAdded():
                yield from self._message(event)
            case ToolCalled():
                yield from self._called(event)
            case ToolEnded():
                yield from self._ended(event)
            case TurnCompleted():
                yield self._last("completed", usage=event.usage)
            case TurnFailed():
                yield from self._failed(event)
            case TurnAborted():
                yield self._last("failed", error={"code": "server_error", "message": event.reason})
            case _:
                assert_never(event)

    def _delta(self, event: TextDelta) -> Iterator[Told]:
        if not self._open or self._open[-1].part != event.part:
            yield from self._opened(event.part)
        message = self._open[-1]
        message.text += event.text
        place = {"item_id": message.item_id, "output_index": message.place, "content_index": 0}
        yield self._told("response.output_text.delta", **place, delta=event.text, logprobs=[])

    def _opened(self, part: int) -> Iterator[Told]:
        message = _Open(item_id=new_id(Kind.MESSAGE), place=len(self._output), part=part)
        self._open.append(message)
        item = {"id": message.item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self._output.append(item)
        yield self._told("response.output_item.added", output_index=message.place, item=item)
        place = {"item_id": message.item_id, "output_index": message.place, "content_index": 0}
        yield self._told("response.content_part.added", **place, part=_part(""))

    def _message(self, event: MessageAdded) -> Iterator[Told]:
        if not self._open:
            yield from self._opened(part=0)
        own_form = event.items[-1] if event.items else {"content": [_part(event.text)]}
        yield from self._closed(self._open.popleft(), event.text, "completed", own_form)

    def _closed(self, message: _Open, text: str, status: str, form: Mapping[str, Any]) -> Iterator[Told]:
        place = {"item_id": message.item_id, "output_index": message.place, "content_index": 0}
        kept = {"type": "message", "role": "assistant", **form, "id": message.item_id, "status": status}
        yield self._told("response.output_text.done", **place, text=text, logprobs=[])
        yield self._told("response.content_part.done", **place, part=_part(text))
        yield from self._done(message.place, kept)

    def _called(self, event: ToolCalled) -> Iterator[Told]:
        if event.name in self.labels:
            yield from self._hosted(event)
        elif event.name in self.functions:
            for item in event.items[:-1]:
                # What the model thought: whoever sends the call back has to send this in front of it.
                yield from self._added(dict(item), dict(item))
                yield from self._done(len(self._output) - 1, dict(item))
            yield from self._function(event)

    def _function(self, event: ToolCalled) -> Iterator[Told]:
        form = event.items[-1] if event.items else {"id": new_id(Kind.FUNCTION_CALL)}
        call = {"type": "function_call", "call_id": event.call_id, "name": event.name, "arguments": event.arguments}
        item = {**form, **call, "status": "completed"}
        yield from self._added(item, {**item, "arguments": "", "status": "in_progress"})
        yield from self._arguments("response.function_call_arguments", item)
        yield from self._done(len(self._output) - 1, item)

    def _hosted(self, event: ToolCalled) -> Iterator[Told]:
        label = self.labels[event.name]
        call = {"type": "mcp_call", "name": event.name, "arguments": event.arguments, "server_label": label}
        item = {"id": new_id(Kind.HOSTED_CALL), **call, "output": None, "error": None}
        self._calls[event.call_id] = len(self._output)
        yield from self._added(item, {**item, "arguments": "", "status": "in_progress"})
        yield self._told("response.mcp_call.in_progress", **self._place(item))
        yield from self._arguments("response.mcp_call_arguments", item)
        self._output[-1] = {**item, "status": "calling"}

    def _ended(self, event: ToolEnded) -> Iterator[Told]:
        place = self._calls.pop(event.call_id, None)
        if place is None:
            return
        item = self._output[place]
        if event.status is ToolStatus.OK:
            item = {**item, "status": "completed", "output": event.output}
        else:
            error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": event.output}]}
            item = {**item, "status": "failed", "error": error}
        how = item["status"]
        yield self._told(f"response.mcp_call.{how}", item_id=item["id"], output_index=place)
        yield from self._done(place, item)

    def _failed(self, event: TurnFailed) -> Iterator[Told]:
        if isinstance(event.error, IncompleteAnswerError):
            for message in list(self._open):
                yield from self._closed(message, message.text, "incomplete", {"content": [_part(message.text)]})
            yield self._last("incomplete", incomplete=event.error.reason or "max_output_tokens")
            return
        code = event.error.code if isinstance(event.error, ProviderEventError) else None
        yield self._last("failed", error={"code": code or "server_error", "message": event.reason})

    def _last(self, status: str, **more: Any) -> Told:
        # What was begun and did not end is no part of the response.
        output = [item for item in self._output if item.get("status") not in ("in_progress", "calling")]
        self.response = self._response(status, output, **more)
        return self._told(f"response.{status}", response=self.response)

    def _response(self, status: str, output: list[Told], **more: Any) -> Told:
        return response_object(
            self.own.asked,
            response_id=self.own.response_id,
            created_at=self.created_at,
            status=status,
            output=list(output),
            **more,
        )

    def _added(self, item: Told, begun: Told) -> Iterator[Told]:
        self._output.append(item)
        yield self._told("response.output_item.added", output_index=len(self._output) - 1, item=begun)

    def _arguments(self, kind: str, item: Told) -> Iterator[Told]:
        place = self._place(item)
        yield self._told(f"{kind}.delta", **place, delta=item["arguments"])
        yield self._told(f"{kind}.done", **place, arguments=item["arguments"], name=item["name"])

    def _place(self, item: Told) -> Told:
        return {"item_id": item.get("id"), "output_index": len(self._output) - 1}

    def _done(self, place: int, item: Told) -> Iterator[Told]:
        self._output[place] = item
        yield self._told("response.output_item.done", output_index=place, item=item)

    def _told(self, type: str, **fields: Any) -> Told:  # noqa: A002 - the API's name
        self._number += 1
        return {"type": type, "sequence_number": self._number - 1, **fields}


def _part(text: str) -> Told:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
