"""`/v1/rerank`: documents in the order of how well they answer a query.

No SDK is shared by those who serve it (vLLM, Jina, Cohere: `{model, query, documents, top_n}` gives
`{results: [{index, relevance_score, document?}]}`), so this is a plain call through aiohttp.
"""

from __future__ import annotations

import json
from typing import Any

import aiohttp
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reference_stack.answers import AnsweredError, NoAnswerError, RefusedError
from reference_stack.asked import body_of, late_of, provider_of
from reference_stack.providers import NO_KEY, Provider
from reference_stack.relay import while_client_waits


async def rerank(request: Request) -> Response:
    """Rank. Results come best first, and no more of them than `top_n`, whatever the provider does."""
    body = await body_of(request, ("model", "query", "documents"))
    documents, top = body["documents"], body.get("top_n")
    if not isinstance(documents, list) or not documents:
        raise RefusedError(400, "The parameter 'documents' must be a list that is not empty.", param="documents")
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 1):
        raise RefusedError(400, "The parameter 'top_n' must be a whole number from 1.", param="top_n")
    name, clients, model = provider_of(request, body["model"])
    session = await late_of(request).aiohttp()
    answer = await while_client_waits(request, _asked(session, clients.provider, {**body, "model": model}))
    try:
        ranked = sorted(answer["results"], key=lambda one: -one["relevance_score"])
        known = all(0 <= one["index"] < len(documents) for one in ranked)
    except (KeyError, TypeError):
        known, ranked = False, []
    if not known:
        raise RefusedError(502, f"The provider {name!r} answered with something that is no ranking.")
    return JSONResponse({**answer, "model": body["model"], "results": ranked[:top]})


async def _asked(session: aiohttp.ClientSession, provider: Provider, body: dict[str, Any]) -> Any:
    headers = {} if provider.key == NO_KEY else {"authorization": f"Bearer {provider.key}"}
    try:
        async with session.post(f"{provider.openai_url}/rerank", json=body, headers=headers) as response:
            content = await response.read()
            if response.status >= 400:
                raise AnsweredError(response.status, content, response.content_type)
    except TimeoutError as error:
        raise NoAnswerError(timed_out=True) from error
    except aiohttp.ClientError as error:
        raise NoAnswerError from error
    try:
        return json.loads(content)
    except ValueError:
        return None
