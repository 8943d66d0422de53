"""The paths of Ollama's own API (https://docs.ollama.com/api), with hand-made answers. This is no Ollama."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_service.asked import CREATED, fields, lines, vector, words

MODEL = "echo"
_DETAILS = {
    "parent_model": "",
    "format": "none",
    "family": "echo",
    "families": ["echo"],
    "parameter_size": "0",
    "quantization_level": "none",
}
_TIMES = {"total_duration": 5, "load_duration": 1, "prompt_eval_duration": 2, "eval_duration": 2}


async def chat(request: Request) -> Response:
    """Says the last message again; calls the first tool that is offered, unless a tool has just answered."""
    body = await fields(request)
    messages = body.get("messages") or [{}]
    if (refused := _refused(body)) is not None:
        return refused
    last = messages[-1]
    tools = body.get("tools") or []
    told: list[dict[str, Any]]
    if tools and last.get("role") != "tool":
        function = {"name": tools[0]["function"]["name"], "arguments": {"city": "Paris"}}
        told = [{"message": {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}}]
    else:
        text = f"[echo] {last.get('content', '')}"
        told = [{"message": {"role": "assistant", "content": word}} for word in words(text)]
    end: dict[str, Any] = {"message": {"role": "assistant", "content": ""}}
    if body.get("stream") is not False:
        return lines(_parts(body, told, end))
    whole: dict[str, Any] = {"role": "assistant", "content": "".join(one["message"]["content"] for one in told)}
    if "tool_calls" in told[0]["message"]:
        whole |= told[0]["message"]
    return JSONResponse(_ended(body, {"message": whole}, len(told)))


async def generate(request: Request) -> Response:
    """Says the prompt again."""
    body = await fields(request)
    if (refused := _refused(body)) is not None:
        return refused
    text = f"[echo] {body.get('prompt', '')}"
    if body.get("stream") is not False:
        return lines(_parts(body, [{"response": word} for word in words(text)], {"response": ""}))
    return JSONResponse(_ended(body, {"response": text}, len(words(text))))


async def embed(request: Request) -> Response:
    """A text's vector counts its letters: four numbers, of length 1 where there are any."""
    body = await fields(request)
    if (refused := _refused(body)) is not None:
        return refused
    given = body.get("input", [])
    vectors = [vector(text) for text in ([given] if isinstance(given, str) else given)]
    counted = {"total_duration": 3, "load_duration": 1, "prompt_eval_count": len(vectors)}
    return JSONResponse({"model": body["model"], "embeddings": vectors, **counted})


async def tags(_: Request) -> Response:
    """The one model."""
    model = {"name": MODEL, "model": MODEL, "modified_at": CREATED, "size": 0, "digest": "0" * 64, "details": _DETAILS}
    return JSONResponse({"models": [model]})


async def ps(_: Request) -> Response:
    """The one model, loaded."""
    model = {"name": MODEL, "model": MODEL, "size": 0, "digest": "0" * 64, "details": _DETAILS}
    loaded = {"expires_at": CREATED, "size_vram": 0, "context_length": 2048}
    return JSONResponse({"models": [{**model, **loaded}]})


def _refused(body: dict[str, Any]) -> Response | None:
    if body.get("model") == MODEL:
        return None
    return JSONResponse({"error": f"model '{body.get('model')}' not found"}, status_code=404)


def _parts(body: dict[str, Any], told: list[dict[str, Any]], end: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for one in told:
        yield {"model": body["model"], "created_at": CREATED, **one, "done": False}
    yield _ended(body, end, len(told))


def _ended(body: dict[str, Any], told: dict[str, Any], count: int) -> dict[str, Any]:
    counts = {"prompt_eval_count": count, "eval_count": count}
    ended = {"done": True, "done_reason": "stop", **_TIMES, **counts}
    return {"model": body["model"], "created_at": CREATED, **told, **ended}


ROUTES = (
    Route("/api/chat", chat, methods=["POST"]),
    Route("/api/generate", generate, methods=["POST"]),
    Route("/api/embed", embed, methods=["POST"]),
    Route("/api/tags", tags),
    Route("/api/ps", ps),
)
