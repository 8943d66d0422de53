"""Events of a streamed Response, and a Response in one piece, as events of a model.

Source: https://platform.openai.com/docs/api-reference/responses-streaming. Event types that add nothing here (text in
other forms, progress of tools at the provider) are passed over, and so are types that the API may get one day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from reference_stack.agent.failures import (
    DamagedStreamError,
    IncompleteAnswerError,
    ProviderEventError,
    UnfinishedStreamError,
)
from reference_stack.agent.model import Completed, Item, Message, ModelEvent, TextDelta, ToolCall
from reference_stack.agent.sse import ServerEvent
from reference_stack.strict_json import read_json

_DONE = "[DONE]"  # what OpenAI's older streams end with, and some servers send here, too


class Answer:
    """One answer of a model, put together from its events.

    `Completed` is held back until the stream has ended (`end`): what follows it would mean that it was no end.
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._before: list[Item] = []
        self._completed: Completed | None = None

    def event(self, event: ServerEvent) -> Iterator[ModelEvent]:
        """What an event adds. Raises DamagedStreamError, ProviderEventError or IncompleteAnswerError."""
        if event.data == _DONE:
            return
        told = _object(event.data)
        kind = _text(told, "type", "an event of the model's answer")
        if event.name not in ("message", kind):
            raise DamagedStreamError(f"An event of the model's answer is named {event.name!r} and is of type {kind!r}.")
        if self._completed is not None:
            raise DamagedStreamError(f"The model's answer went on after its end, with {kind!r}.")
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                yield TextDelta(text=_text(told, "delta", kind))
            case "response.output_item.done":
                yield from self._item(_inner(told, "item", kind))
            case "response.completed":
                self._complete(_inner(told, "response", kind))
            case "response.failed":
                _failed(_inner(told, "response", kind).get("error"))
            case "response.incomplete":
                _incomplete(_inner(told, "response", kind))
            case "error":
                # OpenAI puts message and code beside the type; others wrap them as in an answer without a stream.
                _failed(told.get("error") or told)
            case _:
                pass

    def end(self) -> Completed:
        """The stream has ended. Raises UnfinishedStreamError where nothing said that the answer is whole."""
        if self._completed is None:
            raise UnfinishedStreamError("The model's answer ended before an event said that it is whole.")
        return self._completed

    @property
    def whole(self) -> bool:
        """Whether the last event was there."""
        return self._completed is not None

    def response(self, response: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """All events of a Response that came in one piece; its text is one delta. Raises as `event` does."""
        status = response.get("status")
        if status == "failed":
            _failed(response.get("error"))
        output = response.get("output")
        if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
            raise DamagedStreamError("The model's answer has no list of items as its 'output'.")
        for item in output:
            if status == "incomplete" and item.get("type") == "message":
                yield TextDelta(text=_message_text(item))
            elif status != "incomplete":
                for event in self._item(item):
                    if isinstance(event, Message):
                        yield TextDelta(text=event.text)
                    yield event
        if status == "incomplete":
            _incomplete(response)
        if status != "completed":
            raise UnfinishedStreamError(f"The model's answer has the status {status!r} and not 'completed'.")
        self._complete(response)
        yield self.end()

    def _item(self, item: Mapping[str, Any]) -> Iterator[ModelEvent]:
        kind = _text(item, "type", "an item of the model's answer")
        if kind not in ("message", "function_call"):
            # What it thought, above all: it goes back in front of what it led to.
            self._before.append(item)
            self._items.append(item)
            return
        self._items.append(item)
        items = (*self._before, item)
        if kind == "message":
            event: ModelEvent = Message(text=_message_text(item), items=items)
        else:
            event = ToolCall(
                call_id=_text(item, "call_id", kind, empty=False),
                name=_text(item, "name", kind, empty=False),
                arguments=_text(item, "arguments", kind),
                items=items,
            )
        self._before = []
        yield event

    def _complete(self, response: Mapping[str, Any]) -> None:
        usage = response.get("usage")
        if usage is not None and not isinstance(usage, dict):
            raise DamagedStreamError("The model's answer has a 'usage' that is no object.")
        output = response.get("output")
        # Some servers leave the output out here. Where it is, an item that was lost on the way shows.
        if output and Counter(map(_said, output)) != Counter(map(_said, self._items)):
            raise DamagedStreamError("The model's answer ends with other items than those that were sent before.")
        self._completed = Completed(response_id=_text(response, "id", "the model's answer"), usage=usage)


def _said(item: Any) -> tuple[Any, ...]:
    if not isinstance(item, Mapping):
        raise DamagedStreamError("An item of the model's answer is no JSON object.")
    match item.get("type"):
        case "message":
            return ("message", _message_text(item))
        case "function_call":
            return ("function_call", item.get("call_id"), item.get("name"), item.get("arguments"))
        case kind:
            return (kind,)


def _message_text(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    if not isinstance(content, list):
        raise DamagedStreamError("A message of the model's answer has no list of parts as its 'content'.")
    texts = []
    for part in content:
        if not isinstance(part, dict):
            raise DamagedStreamError("A part of a message of the model's answer is no JSON object.")
        match part.get("type"):
            case "output_text":
                texts.append(_text(part, "text", "a message"))
            case "refusal":
                texts.append(_text(part, "refusal", "a message"))
            case _:
                pass
    return "".join(texts)


def _failed(error: Any) -> NoReturn:
    told: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    code = told.get("code")
    text = told.get("message")
    named = code if isinstance(code, str) else None
    raise ProviderEventError(f"The provider failed: {text or named or 'it does not say why'}", code=named)


def _incomplete(response: Mapping[str, Any]) -> NoReturn:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    named = reason if isinstance(reason, str) else None
    raise IncompleteAnswerError(f"The model's answer is not whole: {named or 'it does not say why'}", reason=named)


def _object(data: str) -> Mapping[str, Any]:
    try:
        value = read_json(data)
    except ValueError as error:
        raise DamagedStreamError(f"An event of the model's answer is not JSON: {error} in {data[:60]!r}.") from error
    if not isinstance(value, dict):
        raise DamagedStreamError(f"An event of the model's answer is no JSON object: {data[:60]!r}.")
    return value


def _inner(told: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    value = told.get(name)
    if not isinstance(value, dict):
        raise DamagedStreamError(f"{where!r} has no object {name!r}.")
    return value


def _text(told: Mapping[str, Any], name: str, where: str, *, empty: bool = True) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not (value or empty):
        raise DamagedStreamError(f"There is no text {name!r} in {where}.")
    return value
