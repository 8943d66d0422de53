"""What an answer says about a key, in the words of each provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof.live import meaning
from stackproof.live.asking import Answer
from stackproof.live.meaning import Standing


def answer(status: int, body: Any, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(
        status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=content
    )


def openai(kind: str, code: str | None = None, message: str = "No.") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def google(status: str, message: str = "No.", **more: Any) -> dict[str, Any]:
    return {"error": {"code": 429, "message": message, "status": status, **more}}


SHORT = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}]
BALANCE = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."


@pytest.mark.parametrize(
    ("status", "body", "standing", "again"),
    [
        (200, {"data": []}, Standing.OK, False),
        (200, b"<html>Sign in to the network</html>", Standing.UNREACHABLE, False),
        (401, openai("invalid_request_error", "invalid_api_key"), Standing.REJECTED, False),
        (403, {"error": "no"}, Standing.REJECTED, False),
        (400, google("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), Standing.REJECTED, False),
        (400, [google("INVALID_ARGUMENT", "API key not valid.")], Standing.REJECTED, False),
        (402, {"error": {"message": "Payment Required"}}, Standing.NO_CREDIT, False),
        (429, openai("insufficient_quota", "insufficient_quota"), Standing.NO_CREDIT, False),
        (429, openai("insufficient_quota", "project_spend_limit_exceeded"), Standing.NO_CREDIT, False),
        (
            400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": BALANCE}},
            Standing.NO_CREDIT,
            False,
        ),
        (403, {"type": "error", "error": {"type": "billing_error", "message": "No."}}, Standing.NO_CREDIT, False),
        (429, google("RESOURCE_EXHAUSTED"), Standing.NO_CREDIT, False),
        (429, [google("RESOURCE_EXHAUSTED")], Standing.NO_CREDIT, False),
        (429, google("RESOURCE_EXHAUSTED", details=SHORT), Standing.RATE_LIMITED, True),
        (432, {"detail": {"error": "This request exceeds your plan's set usage limit."}}, Standing.NO_CREDIT, False),
        (433, {"detail": {"error": "This request exceeds the pay-as-you-go limit."}}, Standing.NO_CREDIT, False),
        (429, openai("requests", "rate_limit_exceeded"), Standing.RATE_LIMITED, True),
        (429, b"slow down", Standing.RATE_LIMITED, True),
        (500, b"", Standing.UNREACHABLE, True),
        (503, openai("server_error"), Standing.UNREACHABLE, True),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            Standing.UNREACHABLE,
            True,
        ),
        (501, b"", Standing.UNREACHABLE, False),
        (404, openai("invalid_request_error", "model_not_found"), Standing.UNKNOWN_MODEL, False),
        (400, openai("invalid_request_error", "model_not_found"), Standing.UNKNOWN_MODEL, False),
        (400, openai("invalid_request_error", "unsupported_parameter"), Standing.UNCLEAR, False),
        (307, b"", Standing.UNREACHABLE, False),
        (407, b"", Standing.UNREACHABLE, False),
    ],
)
def test_an_answer_means(status: int, body: Any, standing: Standing, again: bool) -> None:
    meant = meaning.of(answer(status, body))
    assert (meant.standing, meant.again) == (standing, again)
    assert meant.said.startswith(str(status))


def test_what_is_said_names_the_reason_and_the_first_sentence() -> None:
    body = openai("insufficient_quota", message="You exceeded your current quota. For more, read https://x.")
    assert meaning.of(answer(429, body)).said == "429 insufficient_quota: You exceeded your current quota."


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry_after": "7"}, {}, 7.0),
        ({"retry_after_ms": "1500", "retry_after": "9"}, {}, 1.5),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, {}, 0.0),
        ({"retry_after": "soon"}, {}, None),
        ({}, google("RESOURCE_EXHAUSTED", details=SHORT), 17.5),
        ({}, {}, None),
    ],
)
def test_how_long_it_asks_to_wait(headers: dict[str, str], body: Any, seconds: float | None) -> None:
    assert meaning.of(answer(429, body, **headers)).wait == seconds


def test_a_redirect_says_where_to(tmp_path: object) -> None:
    assert meaning.of(answer(302, b"", location="https://elsewhere.example/")).elsewhere == "https://elsewhere.example/"
