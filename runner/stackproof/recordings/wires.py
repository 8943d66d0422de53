"""Readers of answers, one for each wire; each takes whole answers and the events of a stream alike.

Shapes: OpenAI's API reference (chat completions, completions, embeddings, responses), Anthropic's Messages API,
Ollama's API (`/api/chat`, `/api/generate`, `/api/embed`), Gemini's `generateContent` and `interactions`.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from stackproof.recorder import normalise
from stackproof.recordings.draft import Draft, Vectors, Wire, text_of

_Act = Callable[[Draft, dict[str, Any]], None]


def read(draft: Draft, value: Any) -> None:
    """Take in one answer or one event of a stream."""
    if not isinstance(value, dict):
        draft.unread.append(value)
        return
    if value.get("error") or value.get("type") == "error":
        draft.error = error_of(value)
    if value.get("type") == "ping":  # sent while the model is silent
        return
    reader = _reader_of(value)
    if reader is None:
        if not draft.error:
            draft.unread.append(value)
        return
    draft.wire, act = reader
    if isinstance(value.get("model"), str):
        draft.model = value["model"]
    act(draft, value)


def error_of(value: Any) -> str:
    """The message of an error, wherever its provider put it."""
    while isinstance(value, dict):
        inner = next((value[key] for key in ("error", "message", "detail", "type") if value.get(key)), None)
        if inner is None:
            break
        value = inner
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reader_of(value: dict[str, Any]) -> tuple[Wire, _Act] | None:
    known = _READERS.get(normalise.wire_of(value) or "")
    if known is not None:
        return known
    if "candidates" in value or "usageMetadata" in value:
        return Wire.GEMINI, _gemini
    if value.get("object") == "interaction" or "event_type" in value:
        return Wire.INTERACTION, _interaction
    if isinstance(value.get("choices"), list):
        return Wire.CHAT, _chat
    return (Wire.VECTORS, _vectors) if _vectors_in(value) else None


def _items(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _part(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _chat(draft: Draft, value: dict[str, Any]) -> None:
    for choice in _items(value.get("choices")):
        number = choice.get("index", 0)
        said = _part(choice.get("message") or choice.get("delta"))
        draft.say(said.get("content", choice.get("text")), number)
        draft.say(said.get("refusal"), number)
        draft.think(said.get("reasoning_content") or said.get("reasoning"))
        for at, call in enumerate(_items(said.get("tool_calls"))):
            function = _part(call.get("function") or call.get("custom"))
            place = (number, call.get("index", at))
            draft.call(place, function.get("name"), function.get("arguments", function.get("input")))
        if isinstance(said.get("function_call"), dict):
            draft.call((number, "function"), said["function_call"].get("name"), said["function_call"].get("arguments"))
        draft.end(choice.get("finish_reason"), number)
    draft.count(value.get("usage"))


def _response(draft: Draft, value: dict[str, Any]) -> None:
    output = list(_items(value.get("output")))
    if output:  # the whole answer at the end of a stream stands for its pieces
        draft.said.clear()
        draft.thought.clear()
        draft.calls.clear()
    for at, item in enumerate(output):
        _output_item(draft, at, item)
    if value.get("status") != "in_progress":
        why = _part(value.get("incomplete_details")).get("reason")
        draft.end(f"{value.get('status')}: {why}" if why else value.get("status"))
    if isinstance(value.get("model"), str):
        draft.model = value["model"]
    draft.count(value.get("usage"))


def _output_item(draft: Draft, at: Any, item: dict[str, Any]) -> None:
    match item.get("type"):
        case "message":
            draft.say(item.get("content"))
        case "reasoning":
            draft.think(text_of(item.get("content") or item.get("summary") or ""))
        case "function_call" | "custom_tool_call":
            draft.call(at, item.get("name"), item.get("arguments") or item.get("input"))
        case kind:  # searches and other work of the provider's own
            about = {key: item[key] for key in ("name", "queries", "action", "arguments", "code") if item.get(key)}
            draft.call(at, kind or "item", about or None)


def _response_event(draft: Draft, value: dict[str, Any]) -> None:
    place = value.get("output_index", value.get("item_id"))
    match value["type"]:
        case "response.output_text.delta" | "response.refusal.delta":
            draft.say(value.get("delta"))
        case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
            draft.think(value.get("delta"))
        case "response.output_item.added" if _part(value.get("item")).get("type") in (
            "function_call",
            "custom_tool_call",
        ):
            draft.call(value.get("output_index", value["item"].get("id")), value["item"].get("name"), None)
        case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
            draft.call(place, None, value.get("delta"))
        case _:
            pass
    if isinstance(value.get("response"), dict):
        if value["response"].get("error"):
            draft.error = error_of(value["response"])
        _response(draft, value["response"])


def _message(draft: Draft, value: dict[str, Any]) -> None:
    for at, block in enumerate(_items(value.get("content"))):
        _block(draft, at, block)
    draft.end(value.get("stop_reason"))
    draft.count(value.get("usage"))
    if isinstance(value.get("model"), str):
        draft.model = value["model"]


def _block(draft: Draft, at: Any, block: dict[str, Any]) -> None:
    match block.get("type"):
        case "text":
            draft.say(block.get("text"))
        case "thinking":
            draft.think(block.get("thinking"))
        case "tool_use" | "server_tool_use":
            # A stream begins with an empty object and gives the arguments in pieces.
            draft.call(at, block.get("name"), block.get("input") or None)
        case _:
            draft.say(block)


def _message_event(draft: Draft, value: dict[str, Any]) -> None:
    match value["type"]:
        case "message_start":
            _message(draft, _part(value.get("message")))
        case "content_block_start":
            _block(draft, value.get("index"), _part(value.get("content_block")))
        case "content_block_delta":
            delta = _part(value.get("delta"))
            draft.say(delta.get("text"))
            draft.think(delta.get("thinking"))
            if "partial_json" in delta:
                draft.call(value.get("index"), None, delta["partial_json"])
        case "message_delta":
            draft.end(_part(value.get("delta")).get("stop_reason"))
            draft.count(value.get("usage"))
        case _:
            pass


def _ollama(draft: Draft, value: dict[str, Any]) -> None:
    said = _part(value.get("message"))
    draft.say(said.get("content", value.get("response")))
    draft.think(said.get("thinking", value.get("thinking")))
    for call in _items(said.get("tool_calls")):
        function = _part(call.get("function"))
        draft.call(len(draft.calls), function.get("name"), function.get("arguments"))
    draft.end(value.get("done_reason"))
    draft.count({key: value[key] for key in ("prompt_eval_count", "eval_count") if key in value})


def _gemini(draft: Draft, value: dict[str, Any]) -> None:
    for candidate in _items(value.get("candidates")):
        number = candidate.get("index", 0)
        for part in _items(_part(candidate.get("content")).get("parts")):
            if isinstance(part.get("functionCall"), dict):
                draft.call(len(draft.calls), part["functionCall"].get("name"), part["functionCall"].get("args"))
            elif part.get("thought"):
                draft.think(part.get("text"))
            else:
                draft.say(part, number)
        draft.end(candidate.get("finishReason"), number)
    draft.count(value.get("usageMetadata"))
    if isinstance(value.get("modelVersion"), str):
        draft.model = value["modelVersion"]


def _interaction(draft: Draft, value: dict[str, Any]) -> None:
    whole = _part(value.get("interaction", value if "steps" in value or "outputs" in value else None))
    delta = _part(value.get("delta"))
    draft.say(delta.get("text"))
    for at, step in enumerate(_items(whole.get("steps") or whole.get("outputs"))):
        if step.get("type") == "function_call":
            draft.call(at, step.get("name"), step.get("arguments"))
        elif not draft.said or "interaction" not in value:
            draft.say(step.get("content", step))
    if whole.get("status") != "in_progress":
        draft.end(whole.get("status"))
    draft.count(whole.get("usage"))
    if isinstance(whole.get("model"), str):
        draft.model = whole["model"]


def _vectors_in(value: dict[str, Any]) -> list[Any]:
    for key in ("data", "embeddings", "embedding"):
        found = value.get(key)
        if isinstance(found, list) and found and all(isinstance(item, int | float) for item in found):
            return [found]
        if isinstance(found, dict) and key == "embedding":
            found = [found]
        if isinstance(found, list) and found:
            inner = [item.get("embedding", item.get("values")) if isinstance(item, dict) else item for item in found]
            if all(isinstance(item, str | list) and item for item in inner) and (key != "data" or _embeds(found)):
                return inner
    return []


def _embeds(found: list[Any]) -> bool:
    return all(isinstance(item, dict) and "embedding" in item for item in found)


def _vectors(draft: Draft, value: dict[str, Any]) -> None:
    found = _vectors_in(value)
    # OpenAI's base64 is of 32-bit floats.
    lengths = (len(item) if isinstance(item, list) else len(item.rstrip("=")) * 3 // 16 for item in found)
    first = found[0]
    draft.vectors = Vectors(
        count=len(found),
        lengths=tuple(dict.fromkeys(lengths)),
        digest=sha256(b"".join(map(_packed, found))).hexdigest(),
        sample=tuple(first) if isinstance(first, list) and _are_numbers(first) else (),
    )
    draft.count(value.get("usage"))


def _packed(vector: Any) -> bytes:
    # A text of the numbers would take ten times as long.
    if isinstance(vector, list) and _are_numbers(vector):
        with contextlib.suppress(OverflowError):
            return array("d", vector).tobytes()
    return repr(vector).encode()


def _are_numbers(values: list[Any]) -> bool:
    return {type(value) for value in values} <= {int, float}


_READERS: dict[str, tuple[Wire, _Act]] = {
    normalise.CHAT: (Wire.CHAT, _chat),
    normalise.RESPONSE: (Wire.RESPONSE, _response),
    normalise.RESPONSE_EVENT: (Wire.RESPONSE, _response_event),
    normalise.MESSAGE: (Wire.MESSAGE, _message),
    normalise.MESSAGE_EVENT: (Wire.MESSAGE, _message_event),
    normalise.OLLAMA: (Wire.OLLAMA, _ollama),
}
