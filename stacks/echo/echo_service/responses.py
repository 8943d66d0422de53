"""OpenAI's `POST /v1/responses`, which llm-katan has not: it says again what the model read last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_service.asked import events, fields, words

_ITEM, _ID = "msg_hand_made", "resp_hand_made"


async def create(request: Request) -> Response:
    """Answer."""
    body = await fields(request)
    if "input" not in body:
        error = {"message": "'input' is required", "type": "invalid_request_error", "param": "input", "code": None}
        return JSONResponse({"error": error}, status_code=400)
    text = f"[echo] {last_text(body['input'])}"
    if body.get("stream") is True:
        return events(_events(body, text), name="type")
    return JSONResponse(_response(body, [_message(text)], "completed"))


def last_text(given: Any) -> str:
    """The last text of an input: a message's, or a tool's output."""
    if isinstance(given, str):
        return given
    last = given[-1] if isinstance(given, list) and given else {}
    content = last.get("output", last.get("content", ""))
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def _events(body: dict[str, Any], text: str) -> Iterator[dict[str, Any]]:
    place = {"item_id": _ITEM, "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(body, [], "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_message(""), "content": []}},
        {"type": "response.content_part.added", **place, "part": part},
        *({"type": "response.output_text.delta", **place, "delta": word} for word in words(text)),
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": 0, "item": _message(text)},
        {"type": "response.completed", "response": _response(body, [_message(text)], "completed")},
    ]
    for number, event in enumerate(told):
        yield {**event, "sequence_number": number}


def _message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": _ITEM, "role": "assistant", "status": "completed", "content": [part]}


def _response(body: dict[str, Any], output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    told = {"id": _ID, "object": "response", "created_at": 0, "status": status, "model": body.get("model")}
    return {**told, "output": output, "tools": [], "usage": usage if status == "completed" else None}


ROUTES = (Route("/v1/responses", create, methods=["POST"]),)
