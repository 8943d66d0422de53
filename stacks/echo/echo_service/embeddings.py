"""OpenAI's `POST /v1/embeddings`, which llm-katan has not: the vectors that Ollama's paths give here, too."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from echo_service.asked import fields, vector


async def create(request: Request) -> Response:
    """One for each text; as floats, whatever encoding is asked for."""
    body = await fields(request)
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        message = "'input' must be a text, or a list of texts that is not empty"
        error = {"message": message, "type": "invalid_request_error", "param": "input", "code": None}
        return JSONResponse({"error": error}, status_code=400)
    data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JSONResponse({"object": "list", "data": data, "model": body.get("model"), "usage": usage})


ROUTES = (Route("/v1/embeddings", create, methods=["POST"]),)
