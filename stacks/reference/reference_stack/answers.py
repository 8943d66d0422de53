"""Errors as the gateway says them, in the shape of the API that was called."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Any, assert_never

import openai
from starlette.responses import JSONResponse, Response

# What tells a client whether and when to ask again; everything else in a provider's headers is between it and us.
_PASSED_ON = ("content-type", "x-should-retry", "retry-after", "retry-after-ms")

_KINDS = {400: "invalid_request_error", 404: "not_found_error", 405: "invalid_request_error"}


class Dialect(Enum):
    """Whose API was called."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"


class AnsweredError(Exception):
    """A provider's answer that is an error, as a library that is imported late told of it."""

    def __init__(self, status: int, content: bytes, media_type: str = "application/json") -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.content = content
        self.media_type = media_type


class NoAnswerError(Exception):
    """There was no answer, or a part of one; the cause is what the library raised."""

    def __init__(self, *, timed_out: bool = False) -> None:
        super().__init__("no answer")
        self.timed_out = timed_out


class RefusedError(Exception):
    """A request that the gateway answers by itself."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param


def failures() -> tuple[type[Exception], ...]:
    """Everything that says that a provider answered with an error, or did not answer."""
    return (*_of_both("APIStatusError"), *_of_both("APIConnectionError"), AnsweredError, NoAnswerError)


def _of_both(name: str) -> tuple[type[Exception], ...]:
    # Both SDKs have their own family of the same shape. One that nobody has imported yet has raised nothing.
    families = (openai, sys.modules.get("anthropic"))
    return tuple(kind for family in families if (kind := getattr(family, name, None)) is not None)


def error_body(
    dialect: Dialect, status: int, message: str, *, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """The error object of OpenAI's or of Anthropic's API."""
    kind = _KINDS.get(status, "api_error")
    match dialect:
        case Dialect.OPENAI:
            return {"error": {"message": message, "type": kind, "param": param, "code": code}}
        case Dialect.ANTHROPIC:
            return {"type": "error", "error": {"type": kind, "message": message}}
        case Dialect.OLLAMA:
            return {"error": message}
    assert_never(dialect)


def error_event(dialect: Dialect, message: str) -> bytes:
    """An event that tells the reader of a stream, whose status is out already, what went wrong."""
    if dialect is Dialect.OLLAMA:
        return json.dumps(error_body(dialect, 502, message)).encode() + b"\n"
    name = b"event: error\n" if dialect is Dialect.ANTHROPIC else b""
    return name + b"data: " + json.dumps(error_body(dialect, 502, message)).encode() + b"\n\n"


def refusal(dialect: Dialect, error: RefusedError) -> Response:
    """The gateway's own answer."""
    body = error_body(dialect, error.status, error.message, code=error.code, param=error.param)
    return JSONResponse(body, status_code=error.status)


def provider_error(dialect: Dialect, provider: str, error: Exception) -> Response:
    """What an SDK raised, for the client: a provider's answer as it was, or that there was none (502, 504)."""
    if isinstance(error, _of_both("APIStatusError")):
        response: Any = error.response  # type: ignore[attr-defined]  # of either SDK
        headers = {name: response.headers[name] for name in _PASSED_ON if name in response.headers}
        return Response(response.content, status_code=response.status_code, headers=headers)
    if isinstance(error, AnsweredError):
        return Response(error.content, status_code=error.status, media_type=error.media_type)
    timed_out = error.timed_out if isinstance(error, NoAnswerError) else isinstance(error, _of_both("APITimeoutError"))
    status = 504 if timed_out else 502
    return JSONResponse(error_body(dialect, status, no_answer(provider, error)), status_code=status)


def told_by(provider: str, status: int, details: object) -> AnsweredError:
    """A provider's error object, put into OpenAI's shape: its message, and its name of the error as the code."""
    inner = details.get("error", details) if isinstance(details, Mapping) else details
    fields = inner if isinstance(inner, Mapping) else {"message": inner}
    text = str(fields.get("message") or f"The provider {provider!r} answered with status {status}.")
    named = fields.get("status")
    code = named if isinstance(named, str) else None
    return AnsweredError(status, json.dumps(error_body(Dialect.OPENAI, status, text, code=code)).encode())


def no_answer(provider: str, error: BaseException) -> str:
    """One sentence about a connection that failed, with the reason the transport gave."""
    reason = error.__cause__ or error
    # Some reasons have a name only.
    return f"The provider {provider!r} gave no answer: {type(reason).__name__}: {reason}".removesuffix(": ")
