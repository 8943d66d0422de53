"""Serve until SIGTERM or SIGINT: `python -m echo_service --port PORT`.

The base URL for clients is http://127.0.0.1:PORT/v1, for Gemini's own API and Ollama's the origin. What is below
`/for/NAME` is the same again: a URL of its own for each provider that it stands in for.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

import uvicorn
from llm_katan import server
from llm_katan.config import ServerConfig
from llm_katan.model import EchoBackend
from starlette.types import ASGIApp, Receive, Scope, Send

from echo_service import embeddings, interactions, ollama_api, rerank, responses, web_search

_HOST = "127.0.0.1"
_BELOW = re.compile(r"\A/for/[^/]+(?=/)")
_CHANGING = re.compile(r" host=\S+ time=\S+")


class SteadyEcho(EchoBackend):  # type: ignore[misc]
    """The echo without the machine's name, the port and the time: the same request gives the same answer."""

    async def _generate_text(
        self, messages: list[dict[str, str]], max_tokens: int, temperature: float
    ) -> tuple[str, int, int]:
        text, *counts = await super()._generate_text(messages, max_tokens, temperature)
        return (_CHANGING.sub("", text, count=1), *counts)


class Front:
    """What llm-katan does not read: a path below `/for/NAME`, and where Google's and Anthropic's SDKs put their keys.

    Anthropic's sends its key as a bearer token now; llm-katan wants it where older versions sent it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = _BELOW.sub("", scope["path"])
            scope = {**scope, "path": path, "raw_path": path.encode()}
            headers = dict(scope["headers"])
            key, bearer = headers.get(b"x-goog-api-key"), headers.get(b"authorization", b"")
            if key is not None:
                scope["headers"] = [*scope["headers"], (b"authorization", b"Bearer " + key)]
            elif b"x-api-key" not in headers and bearer.startswith(b"Bearer "):
                scope["headers"] = [*scope["headers"], (b"x-api-key", bearer.removeprefix(b"Bearer "))]
        await self._app(scope, receive, send)


def main(argv: Sequence[str]) -> int:
    """Serve; the exit code."""
    parser = argparse.ArgumentParser(prog="echo_service", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args(argv).port
    config = ServerConfig(
        model_name="echo",
        host=_HOST,
        port=port,
        backend="echo",
        providers=["openai", "anthropic", "vertexai", "bedrock", "azure_openai"],
        dashboard_enabled=False,
    )
    server.create_backend = SteadyEcho
    app = server.create_app(config)
    app.add_middleware(Front)
    for module in (embeddings, interactions, ollama_api, rerank, responses, web_search):
        app.router.routes.extend(module.ROUTES)
    # It answers at once: whoever still waits when it is told to stop has gone away.
    uvicorn.run(app, host=_HOST, port=port, log_level="info", timeout_graceful_shutdown=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
