"""Errors as the gateway says them, in the shape of the API that was called."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, assert_never

import anthropic
import openai
from starlette.responses import JSONResponse, Response

# Both SDKs have their own family of the same shape.
STATUS_ERRORS = (openai.APIStatusError, anthropic.APIStatusError)
CONNECTION_ERRORS = (openai.APIConnectionError, anthropic.APIConnectionError)
TIMEOUT_ERRORS = (openai.APITimeoutError, anthropic.APITimeoutError)

# What tells a client whether and when to ask again; everything else in a provider's headers is between it and us.
_PASSED_ON = ("content-type", "x-should-retry", "retry-after", "retry-after-ms")

_KINDS = {400: "invalid_request_error", 404: "not_found_error", 405: "invalid_request_error"}


class Dialect(Enum):
    """Whose API was called."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class RefusedError(Exception):
    """A request that the gateway answers by itself."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param


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
    assert_never(dialect)


def error_event(dialect: Dialect, message: str) -> bytes:
    """A server-sent event that tells the reader of a stream, whose status is out already, what went wrong."""
    name = b"event: error\n" if dialect is Dialect.ANTHROPIC else b""
    return name + b"data: " + json.dumps(error_body(dialect, 502, message)).encode() + b"\n\n"


def refusal(dialect: Dialect, error: RefusedError) -> Response:
    """The gateway's own answer."""
    body = error_body(dialect, error.status, error.message, code=error.code, param=error.param)
    return JSONResponse(body, status_code=error.status)


def provider_error(dialect: Dialect, provider: str, error: Exception) -> Response:
    """What an SDK raised, for the client: a provider's answer as it was, or that there was none (502, 504)."""
    if isinstance(error, STATUS_ERRORS):
        response = error.response
        headers = {name: response.headers[name] for name in _PASSED_ON if name in response.headers}
        return Response(response.content, status_code=response.status_code, headers=headers)
    status = 504 if isinstance(error, TIMEOUT_ERRORS) else 502
    return JSONResponse(error_body(dialect, status, no_answer(provider, error)), status_code=status)


def no_answer(provider: str, error: BaseException) -> str:
    """One sentence about a connection that failed, with the reason the transport gave."""
    reason = error.__cause__ or error
    return f"The provider {provider!r} gave no answer: {type(reason).__name__}: {reason}"
