"""Gemini's `POST /v1beta/interactions` (https://ai.google.dev/api/interactions-api): it says the input again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_service.asked import CREATED, events, fields, words

_ID = "hand-made-interaction"


async def create(request: Request) -> Response:
    """Answer."""
    body = await fields(request)
    if "input" not in body:
        return JSONResponse({"error": {"code": "invalid_request", "message": "input: required"}}, status_code=400)
    model = body.get("model")
    if not isinstance(model, str) or not model.startswith("gemini-"):
        error = {"code": "not_found", "message": f"Model {model!r} not found."}
        return JSONResponse({"error": error}, status_code=404)
    text = f"[echo] {said(body['input'])}"
    if body.get("stream") is True:
        return events(_events(model, text), name="event_type", done=True)
    whole = _interaction(model, "completed")
    return JSONResponse({**whole, "steps": [_step(text)], "usage": _usage(text)})


def said(given: Any) -> str:
    """The last text of an input: a text, a content part, or a list of parts or of steps."""
    match given:
        case str(text) | {"text": str(text)}:
            return text
        case {"content": content}:
            return said(content)
        case [*_, last]:
            return said(last)
        case _:
            return ""


def _events(model: str, text: str) -> Iterator[dict[str, Any]]:
    yield {"event_type": "interaction.created", "interaction": _interaction(model, "in_progress")}
    yield {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}
    for word in words(text):
        yield {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": word}}
    yield {"event_type": "step.stop", "index": 0}
    done = {**_interaction(model, "completed"), "usage": _usage(text)}
    yield {"event_type": "interaction.completed", "interaction": done}


def _interaction(model: str, status: str) -> dict[str, Any]:
    times = {"created": CREATED, "updated": CREATED}
    return {"id": _ID, "object": "interaction", "model": model, "status": status, **times}


def _step(text: str) -> dict[str, Any]:
    return {"type": "model_output", "content": [{"type": "text", "text": text}]}


def _usage(text: str) -> dict[str, int]:
    count = len(text.split())
    return {"total_input_tokens": count, "total_output_tokens": count, "total_tokens": 2 * count}


ROUTES = (Route("/v1beta/interactions", create, methods=["POST"]),)
