"""Answers of Google's SDK, which OGX keeps as its types dump them, to the JSON that Vertex AI sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stackproof.recorder.canonical import compact
from stackproof.recordings.importing.imported import ImportedAnswer, RefusedSource

# What the SDK adds by itself.
_OF_THE_SDK = frozenset({"sdk_http_response", "automatic_function_calling_history", "parsed"})
# Below these are the caller's own names, not Google's.
_CALLERS = frozenset({"args", "response", "custom_metadata"})
_SNAKE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")
# Of the way that it came, not of the answer: the body of the file is whole and in no encoding.
_OF_THE_WAY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def answer_of(response: Mapping[str, Any], *, streamed: bool) -> ImportedAnswer:
    """The answer on the wire; RefusedSource for an exception, which does not say what the server answered."""
    if response.get("is_exception") is True:
        raise RefusedSource("its exception is one of Google's SDK, which does not say what the server answered")
    body = response.get("body")
    if not streamed:
        if not isinstance(body, dict):
            raise RefusedSource("its answer is no object")
        return ImportedAnswer(status=200, headers=_headers(body, "application/json"), body=compact(_wire(body)))
    if not isinstance(body, list) or not body or not all(isinstance(item, dict) for item in body):
        raise RefusedSource("its answer is a stream without a list of events")
    events = (b"data: " + compact(_wire(item)) + b"\n\n" for item in body)
    return ImportedAnswer(status=200, headers=_headers(body[0], "text/event-stream"), body=b"".join(events))


def _headers(item: Mapping[str, Any], content_type: str) -> dict[str, str]:
    told = item.get("sdk_http_response")
    headers = told.get("headers") if isinstance(told, dict) else None
    found = headers if isinstance(headers, dict) else {}
    kept = {
        str(key).lower(): value
        for key, value in found.items()
        if isinstance(value, str) and str(key).lower() not in _OF_THE_WAY
    }
    return {**kept, "content-type": kept.get("content-type", content_type)}


def _wire(item: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = _camel({key: value for key, value in item.items() if key not in _OF_THE_SDK})
    return named


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if isinstance(value, dict):
        return {
            _SNAKE.sub(lambda found: found[1].upper(), key): item if key in _CALLERS else _camel(item)
            for key, item in value.items()
        }
    return value
