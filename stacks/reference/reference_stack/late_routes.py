"""Endpoints whose modules are imported by their first request: what they are made of takes half a second and more."""

from __future__ import annotations

import asyncio
import importlib
from types import ModuleType

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reference_stack.answers import Dialect
from reference_stack.asked import Handler, answering


async def imported(module: str) -> ModuleType:
    """A module of the gateway; nobody else's answer waits for it."""
    return await asyncio.to_thread(importlib.import_module, f"reference_stack.{module}")


def _later(module: str, name: str, dialect: Dialect) -> Handler:
    async def handle(request: Request) -> Response:
        answer: Response = await getattr(await imported(module), name)(request)
        return answer

    return answering(handle, dialect=dialect)


ROUTES = (
    Route("/v1/rerank", _later("rerank", "rerank", Dialect.OPENAI), methods=["POST"]),
    Route("/api/chat", _later("ollama_api", "chat", Dialect.OLLAMA), methods=["POST"]),
    Route("/api/generate", _later("ollama_api", "generate", Dialect.OLLAMA), methods=["POST"]),
    Route("/api/embed", _later("ollama_api", "embed", Dialect.OLLAMA), methods=["POST"]),
    Route("/api/tags", _later("ollama_api", "tags", Dialect.OLLAMA)),
    Route("/api/ps", _later("ollama_api", "ps", Dialect.OLLAMA)),
)
