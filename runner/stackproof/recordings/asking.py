"""What a recorded request asks, in the form of a conversation, whatever wire it went over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackproof.recordings.wording import size

_DATA_URL = re.compile(r"data:(?P<kind>[\w/+.-]+)(?:;[\w=-]+)*;base64,(?P<data>.*)", re.DOTALL)
_CONVERSATION = ("system", "instructions", "systemInstruction", "messages", "contents", "input", "prompt", "tools")


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What one side said."""

    role: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request: the turns, the names of the tools that it offers, and every other field of its JSON.

    A body that is no conversation has no turns; then all of it is in `rest`.
    """

    turns: tuple[Turn, ...] = ()
    tools: tuple[str, ...] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)


def asked(request: Mapping[str, Any]) -> Asked:
    """What the request of a recording asks."""
    body = request.get("body")
    if not isinstance(body, dict):
        return Asked(rest={} if body is None else {"body": body})
    value = body.get("json")
    if not isinstance(value, dict):
        return Asked(rest=body if "json" not in body else {"json": value})
    turns = tuple(_turns(value))
    rest = {key: item for key, item in value.items() if not turns or key not in _CONVERSATION}
    rest.pop("model", None)
    if not turns:
        return Asked(rest=rest)
    return Asked(turns=turns, tools=tuple(_tools(value.get("tools"))), rest=rest)


def _turns(value: dict[str, Any]) -> Iterator[Turn]:
    for key in ("system", "instructions", "systemInstruction"):
        if value.get(key):
            yield Turn(role="system", text=part_text(value[key]))
    for key in ("messages", "contents", "input", "prompt"):
        said = value.get(key)
        if isinstance(said, str):
            yield Turn(role="user" if key == "input" and "max_tokens" not in value else key, text=said)
        elif isinstance(said, list):
            yield from _list_of_turns(said, key)


def _list_of_turns(said: list[Any], key: str) -> Iterator[Turn]:
    if said and all(isinstance(item, str) for item in said):
        yield from (Turn(role=f"{key} {number}", text=item) for number, item in enumerate(said, 1))
        return
    for item in said:
        if not isinstance(item, dict):
            yield Turn(role=key, text=json.dumps(item, ensure_ascii=False))
            continue
        role = str(item.get("role") or item.get("type") or key)
        lines = [part_text(item), *map(part_text, item.get("tool_calls") or ())]
        yield Turn(role=role, text="\n".join(line for line in lines if line))


def part_text(part: Any) -> str:  # noqa: PLR0911 - a table of shapes
    """A part of a message as text: text as it is, calls as code, pictures and files by type and size."""
    if part is None or isinstance(part, str):
        return _folded(part or "")
    if isinstance(part, list):
        return "\n".join(map(part_text, part))
    if not isinstance(part, dict):
        return json.dumps(part, ensure_ascii=False)
    function = part.get("function", part.get("functionCall", part))
    if isinstance(function, dict) and "name" in function:
        given = function.get("arguments", function.get("args", function.get("input")))
        if given is not None:
            arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            return f"→ {function['name']}({arguments})"
    for key in ("text", "content", "parts", "output", "thinking", "response"):
        if part.get(key) is not None:
            return part_text(part[key])
    source = part.get("image_url", part.get("source", part.get("inlineData", part.get("file"))))
    if source is not None:
        return f"[{part.get('type', 'data')} {_source(source)}]"
    if "functionResponse" in part:
        return json.dumps(part["functionResponse"].get("response"), ensure_ascii=False)
    return "" if set(part) <= {"role", "content", "tool_calls"} else _folded(json.dumps(part, ensure_ascii=False))


def _source(source: Any) -> str:
    if isinstance(source, dict):
        data = source.get("data", source.get("file_data"))
        if isinstance(data, str) and not data.startswith("data:"):
            kind = source.get("media_type", source.get("mimeType", ""))
            return f"{kind}, {size(len(data) * 3 // 4)}".removeprefix(", ")
        source = source.get("url", data or source.get("file_id", source))
    return _folded(source) if isinstance(source, str) else json.dumps(source, ensure_ascii=False)


def _folded(text: str) -> str:
    found = _DATA_URL.fullmatch(text)
    return text if found is None else f"{found['kind']}, {size(len(found['data'].rstrip('=')) * 3 // 4)}"


def _tools(tools: Any) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        declared = tool.get("functionDeclarations")
        for item in declared if isinstance(declared, list) else (tool.get("function", tool),):
            yield str(item.get("name") or item.get("type") or "unnamed") if isinstance(item, dict) else str(item)
