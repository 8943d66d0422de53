"""What OGX recorded below the SDKs: calls that it passes through (Messages, Interactions, rerank), and tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stackproof.recorder.canonical import NotPlainJson, compact, parse
from stackproof.recorder.scope import STACK
from stackproof.recordings.importing import addressee, ogx_file
from stackproof.recordings.importing.imported import Choices, Imported, ImportedAnswer, RefusedSource
from stackproof.recordings.importing.ogx_file import OgxFile, unwrapped
from stackproof.recordings.importing.ogx_openai import JSON, SSE

_TAVILY = "https://api.tavily.com/search"
_RESULTS = {"low": 3, "medium": 5, "high": 10}  # OGX's search_context_size


def passthrough(file: OgxFile, choices: Choices) -> Imported:
    """A call over HTTP as OGX passed it on; only the headers are not in the file."""
    method, payload = file.request.get("method"), file.request.get("payload")
    if not isinstance(method, str) or not method.isalpha() or not method.isascii():
        raise RefusedSource("its request has no method")
    setup, target = addressee.find(file.url, choices, run=file.run)
    answer = _passed(file.response)
    return Imported(
        kind=f"{target.path.rstrip('/').rpartition('/')[2]} over HTTP{', stream' if answer.headers is SSE else ''}",
        scope=file.scope,
        setup=setup,
        target=target,
        method=method,
        content_type="application/json",
        body=compact(payload),
        answer=answer,
        ids=file.ids,
        provenance={**file.provenance, "derived": "response headers"},
    )


def _passed(response: Mapping[str, Any]) -> ImportedAnswer:
    status, body = response.get("status", 200), response.get("body")
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise RefusedSource("its status is none of HTTP")
    if response.get("is_streaming") is not True:
        if body is None:
            raise RefusedSource("its answer is null, and it says of no exception")
        return ImportedAnswer(status=status, headers=JSON, body=compact(body))
    if not isinstance(body, list) or not all(isinstance(line, str) for line in body):
        raise RefusedSource("its answer is a stream without a list of lines")
    try:
        return ImportedAnswer(status=status, headers=SSE, body="".join(f"{line}\n" for line in body).encode())
    except UnicodeEncodeError:
        raise RefusedSource("its answer has half of a surrogate pair, which no server can send") from None


def tool(file: OgxFile, choices: Choices) -> Imported:
    """A search with Tavily: the request that OGX makes of the arguments, and the answer that its result was made of.

    It is nobody's: OGX finds what a tool gave by its arguments alone, whichever test asks.
    """
    provider, name, arguments = (file.request.get(key) for key in ("provider", "tool_name", "kwargs"))
    if provider != "tavily" or name != "web_search":
        raise RefusedSource(f"its tool is {name!r} of {provider!r}, which is not known")
    if not isinstance(arguments, dict) or not isinstance(arguments.get("query"), str):
        raise RefusedSource("its search has no query")
    asked: dict[str, Any] = {"api_key": "***", "query": arguments["query"]}  # masked, as the recorder would
    if arguments.get("allowed_domains"):
        asked["include_domains"] = arguments["allowed_domains"]
    size = arguments.get("search_context_size")
    if isinstance(size, str) and size in _RESULTS:
        asked["max_results"] = _RESULTS[size]
    setup, target = addressee.find(_TAVILY, choices, run=file.run)
    return Imported(
        kind="web search",
        scope=STACK,
        setup=setup,
        target=target,
        method="POST",
        content_type="application/json",
        body=json.dumps(asked).encode(),
        answer=ImportedAnswer(status=200, headers=JSON, body=compact(_found(file.response.get("body")))),
        ids=file.ids,
        provenance={**file.provenance, "derived": "request and response, from a tool's arguments and its result"},
    )


def _found(body: Any) -> dict[str, Any]:
    result = unwrapped(body, *ogx_file.TOOL_RESULTS)
    try:
        content = parse(result["content"])
        return {"query": content["query"], "results": content["top_k"]}
    except (NotPlainJson, KeyError, TypeError, AttributeError):
        raise RefusedSource("its tool's result is no answer of a search") from None
