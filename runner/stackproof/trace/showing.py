"""A trace as lines for a person and as facts for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, assert_never

from stackproof.recordings.wording import counted, one_line, shortened, size, value
from stackproof.trace.contents import Contents
from stackproof.trace.events import Completed, JsonObject, Message, ModelEvent, TextDelta, ToolCall
from stackproof.trace.exchange import Exchange, to_json

_WIDTH = 78
_TITLE = 13  # characters before a value


def lines(contents: Contents, *, number: int | None = None, events: bool = False) -> Iterator[str]:
    """The file, exchange by exchange, or only the one at line `number`. `events`: each event on a line of its own."""
    if number is None:
        yield heading(contents)
        yield from ("" for _ in contents.lines[:1])
    for line in contents.lines:
        if number is not None and line.number != number:
            continue
        if number is None and line is not contents.lines[0]:
            yield ""
        if line.exchange is not None:
            yield from _exchange(line.number, line.exchange, events=events)
        elif line.damage is not None:
            yield f"✗ line {line.number} {one_line(line.damage.what)}"


def heading(contents: Contents) -> str:
    """The file in one line."""
    found = [line.exchange for line in contents.lines if line.exchange is not None]
    partial = sum(exchange.why is not None for exchange in found)
    damaged = len(contents.lines) - len(found)
    more = f", {partial} partial" if partial else ""
    more += f", {damaged} damaged" if damaged else ""
    complete = counted(len(found) - partial, "complete exchange")
    return f"{contents.path}: version {contents.version}, {complete}{more}, {size(contents.size)}"


def facts(contents: Contents, *, number: int | None = None) -> JsonObject:
    """The file as JSON data, every value in full."""
    shown = [line for line in contents.lines if number is None or line.number == number]
    return {
        "file": str(contents.path),
        "version": contents.version,
        "size": contents.size,
        "exchanges": [{"line": one.number, **_facts(one.exchange)} for one in shown if one.exchange is not None],
        "damaged": [{"line": one.number, "what": one.damage.what} for one in shown if one.damage is not None],
    }


def _facts(exchange: Exchange) -> JsonObject:
    return {"conversation": "", "model": "", "partial": None, **to_json(exchange)}


def _exchange(number: int, exchange: Exchange, *, events: bool) -> Iterator[str]:
    who = f", conversation {exchange.conversation}" if exchange.conversation else ""
    who += f", model {exchange.model}" if exchange.model else ""
    yield shortened(one_line(f"line {number}{_step(exchange.request)}{who}"), _WIDTH)
    yield _titled("fingerprint", exchange.fingerprint)
    if exchange.request is not None:
        yield from _asked(exchange.request)
    if events:
        yield from (_titled(event.type, _event(event)) for event in exchange.events)
    else:
        yield from _answered(exchange.events)
    if exchange.why is not None:
        how = f": {exchange.error}" if exchange.error else ""
        yield _titled("partial", f"{exchange.why.value} after {counted(len(exchange.events), 'event')}{how}")


def _event(event: ModelEvent) -> str:
    match event:
        case TextDelta() | Message():
            return value(event.text, _WIDTH - _TITLE - 2)
        case ToolCall():
            return f"{event.call_id} {event.name} {event.arguments}"
        case Completed():
            usage = "" if event.usage is None else value(dict(event.usage), _WIDTH)
            return f"{event.response_id or ''} {usage}".strip()
        case _:
            assert_never(event)


def _step(request: JsonObject | None) -> str:
    return "" if request is None else f", step {request['step_sequence']}"


def _asked(request: JsonObject) -> Iterator[str]:
    history, tools = request["history"], request["tools"]
    if isinstance(history, list):
        for item in history[-1:]:
            said = _said(item) if isinstance(item, dict) else None
            who = item.get("role", item.get("type", "")) if isinstance(item, dict) else ""
            text = f"{who} {value(item if said is None else said, _WIDTH)}"
            before = f" (after {counted(len(history) - 1, 'item')})" if len(history) > 1 else ""
            yield _titled("asked", shortened(one_line(text), _WIDTH - _TITLE - 2 - len(before)) + before)
    if tools:
        names = ", ".join(_name(tool) for tool in tools)
        yield _titled("tools", f"{names} (generation {request['tool_generation']})")


def _said(item: JsonObject) -> Any:
    """What an item says: a text, also where it comes in parts; else its content as it is, None where it has none."""
    said = item.get("content", item.get("output"))
    if not isinstance(said, list) or not said:
        return said
    parts = [part["text"] for part in said if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "".join(parts) if len(parts) == len(said) else said


def _name(tool: Any) -> str:
    inner = tool.get("function") if isinstance(tool, dict) else None
    for owner in (tool, inner):
        if isinstance(owner, dict) and isinstance(owner.get("name"), str):
            return str(owner["name"])
    return str(tool.get("type", "?")) if isinstance(tool, dict) else "?"


def _answered(events: tuple[ModelEvent, ...]) -> Iterator[str]:
    texts = [event.text for event in events if isinstance(event, Message)]
    if not texts and (pieces := [event.text for event in events if isinstance(event, TextDelta)]):
        texts = ["".join(pieces)]
    for text in texts:
        yield _titled("answered", value(text, _WIDTH - _TITLE - 2))
    for event in events:
        if isinstance(event, ToolCall):
            yield _titled("called", f"{event.name} {event.arguments}")
    kinds = Counter(event.type for event in events)
    yield _titled("events", ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none")
    for event in events:
        if isinstance(event, Completed) and event.usage is not None:
            yield _titled("usage", value(dict(event.usage), _WIDTH - _TITLE - 2))


def _titled(title: str, text: str) -> str:
    return shortened(f"  {title:<{_TITLE}}{one_line(text)}", max(_WIDTH, _TITLE + 66))


def line_numbers(contents: Contents) -> list[int]:
    """The numbers of lines that `lines` can be asked for."""
    return [line.number for line in contents.lines]
