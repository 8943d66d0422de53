"""How providers say that something went wrong: as a body, and as an event in the middle of a stream.

Sources of the forms: OpenAI's API reference ("Errors"; "Streaming events", `error`), Anthropic's ("Errors", "Error
events" of streaming Messages), Ollama's ("Errors"), Google's AIP-193.
"""

from __future__ import annotations

import json
from enum import StrEnum
from http import HTTPStatus
from typing import Any, assert_never

from ..canonical import compact
from ..events import Framing

_SAYS = "a fault that was injected"
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GOOGLE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_SERVER_ERROR = 500


class Wire(StrEnum):
    """Whose words an error is in. CHAT: OpenAI's, which most others use too."""

    CHAT = "chat"
    RESPONSES = "responses"
    MESSAGES = "messages"
    OLLAMA = "ollama"
    GOOGLE = "google"


def wire_of(path: str) -> Wire:
    """By the path below a provider's URL."""
    if path.endswith("/messages") or "/messages/" in path:
        return Wire.MESSAGES
    if path.endswith(("/api/chat", "/api/generate", "/api/embed", "/api/tags")):
        return Wire.OLLAMA
    if "enerateContent" in path or "embedContents" in path.lower() or path.endswith("/interactions"):
        return Wire.GOOGLE
    return Wire.RESPONSES if path.endswith("/responses") or "/responses/" in path else Wire.CHAT


def error_body(wire: Wire, status: int) -> bytes:
    """The body of an answer with this status, in JSON."""
    return json.dumps(_error(wire, status, f"{_phrase(status)}: {_SAYS}")).encode()


def error_event(wire: Wire, framing: Framing, number: int) -> bytes:
    """An event that says that the provider failed while it answered. number: its place in the stream, from 1."""
    if framing == "ndjson":
        return compact(_error(Wire.OLLAMA, _SERVER_ERROR, f"{_phrase(_SERVER_ERROR)}: {_SAYS}")) + b"\n"
    message = f"{_phrase(_SERVER_ERROR)}: {_SAYS}"
    match wire:
        case Wire.MESSAGES:
            data = {"type": "error", "error": {"type": "overloaded_error", "message": f"Overloaded: {_SAYS}"}}
            return b"event: error\ndata: " + compact(data) + b"\n\n"
        case Wire.RESPONSES:
            told = {"code": "server_error", "message": message, "param": None, "sequence_number": number - 1}
            return b"event: error\ndata: " + compact({"type": "error", **told}) + b"\n\n"
        case Wire.CHAT | Wire.GOOGLE | Wire.OLLAMA:
            return b"data: " + compact(_error(wire, _SERVER_ERROR, message)) + b"\n\n"
    assert_never(wire)


def _error(wire: Wire, status: int, message: str) -> dict[str, Any]:
    match wire:
        case Wire.OLLAMA:
            return {"error": message}
        case Wire.MESSAGES:
            return {"type": "error", "error": {"type": _ANTHROPIC.get(status, "api_error"), "message": message}}
        case Wire.GOOGLE:
            return {"error": {"code": status, "message": message, "status": _GOOGLE.get(status, "UNKNOWN")}}
        case Wire.CHAT | Wire.RESPONSES:
            kind, code = "invalid_request_error", None
            if status == HTTPStatus.TOO_MANY_REQUESTS:
                kind, code = "requests", "rate_limit_exceeded"
            elif status >= _SERVER_ERROR:
                kind = "server_error"
            return {"error": {"message": message, "type": kind, "param": None, "code": code}}
    assert_never(wire)


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else f"Status {status}"
