"""The model list: every configured provider's own, with the provider's name in front of each id."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reference_stack.answers import Dialect, error_body, failures, provider_error
from reference_stack.asked import late_of
from reference_stack.clients import Clients
from reference_stack.late import LateClients


async def list_models(request: Request) -> Response:
    """All models in OpenAI's list form. One provider's failure fails the list: a part of it would look whole."""
    clients: dict[str, Clients] = request.state.clients
    models: list[dict[str, Any]] = []
    for name, each in clients.items():
        try:
            text = await _text(each, late_of(request))
        except failures() as error:
            return provider_error(Dialect.OPENAI, name, error)
        try:
            found = json.loads(text)["data"]
            models += [{"object": "model", **model, "id": f"{name}/{model['id']}"} for model in found]
        except (ValueError, KeyError, TypeError):
            problem = f"The provider {name!r} answered with something that is no list of models."
            return JSONResponse(error_body(Dialect.OPENAI, 502, problem), status_code=502)
    return JSONResponse({"object": "list", "data": models})


async def _text(clients: Clients, late: LateClients) -> str:
    if clients.provider.own_models and clients.provider.anthropic_url is not None:
        anthropic = await late.anthropic(clients.provider)
        return await _read(await anthropic.models.with_raw_response.list(limit=1000))
    return await _read(await clients.openai.models.with_raw_response.list())


async def _read(raw: Any) -> str:
    content: bytes = raw.http_response.content
    return content.decode()
