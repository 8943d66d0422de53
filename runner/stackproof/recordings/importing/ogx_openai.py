"""Calls of OpenAI's SDK: from its arguments to the request that it sends, from its objects to the answer it got."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from stackproof.recorder import failures
from stackproof.recorder.canonical import compact
from stackproof.recordings.importing import addressee, ogx_file
from stackproof.recordings.importing.imported import Choices, Imported, ImportedAnswer, RefusedSource
from stackproof.recordings.importing.ogx_file import OgxFile, type_of, unwrapped

# What OGX calls the endpoint -> the method, and the path below the SDK's base URL.
PATHS: Mapping[str, tuple[str, str]] = {
    "/v1/chat/completions": ("POST", "/chat/completions"),
    "/v1/completions": ("POST", "/completions"),
    "/v1/embeddings": ("POST", "/embeddings"),
    "/v1/responses": ("POST", "/responses"),
    "/v1/models": ("GET", "/models"),
    "/v1/openai/v1/models": ("GET", "/models"),
}
_KINDS = {
    "/chat/completions": "chat completion",
    "/completions": "completion",
    "/embeddings": "embeddings",
    "/responses": "response",
    "/models": "model list",
}
# Arguments that the SDK keeps to itself.
_NOT_SENT = ("extra_headers", "extra_query", "extra_body", "timeout", "idempotency_key")
JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}
DERIVED = "request and response, from what an SDK was given and what it gave back"
_WITHOUT_HOST = "__databricks__"  # OGX writes it in the place of a workspace's host
_A_HOST = "https://workspace.cloud.databricks.com"
_MESSAGE_LIMIT = 100_000
_EVENT = re.compile(r"[a-z_]+(\.[a-z_]+)*")


def call(file: OgxFile, choices: Choices) -> Imported:
    """One call; RefusedSource when its answer is of a class that is not known."""
    endpoint = str(file.request["endpoint"])
    method, path = PATHS[endpoint]
    arguments = file.arguments
    if path == "/completions" and "messages" in arguments and "prompt" not in arguments:
        path = "/chat/completions"  # an early OGX named the endpoint of chats so
    url = file.url.replace(_WITHOUT_HOST, _A_HOST, 1) if file.url.startswith(_WITHOUT_HOST) else file.url
    if not url.endswith(endpoint):
        raise RefusedSource("its URL does not end with its endpoint")
    base = url.removesuffix(endpoint).rstrip("/")
    run = None if path == "/models" else file.run  # whoever asked for the list first, it is everybody's
    setup, target = addressee.find(f"{base}{path}{_query(arguments)}", choices, base=base, run=run)
    answer = _answer(file, path)
    streamed = ", stream" if arguments.get("stream") is True else ""
    return Imported(
        kind=f"{_KINDS[path]}{streamed}{', exception' if (answer.status or 500) >= 400 else ''}",
        scope=file.scope,
        setup=setup,
        target=target,
        method=method,
        content_type="application/json" if method == "POST" else "",
        body=compact(_sent(arguments, path)) if method == "POST" else b"",
        answer=answer,
        ids=file.ids,
        provenance={**file.provenance, "derived": DERIVED},
    )


def _query(arguments: Mapping[str, Any]) -> str:
    extra = arguments.get("extra_query") or {}
    if not isinstance(extra, dict) or not all(isinstance(value, str | int | float) for value in extra.values()):
        raise RefusedSource("its extra_query is not one of plain values")
    pairs = {key: str(value).lower() if isinstance(value, bool) else value for key, value in extra.items()}
    return f"?{urlencode(pairs)}" if pairs else ""


def _sent(arguments: Mapping[str, Any], path: str) -> dict[str, Any]:
    sent = {key: value for key, value in arguments.items() if key not in _NOT_SENT}
    extra = arguments.get("extra_body") or {}
    if not isinstance(extra, dict):
        raise RefusedSource("its extra_body is no object")
    if path == "/embeddings":
        sent.setdefault("encoding_format", "base64")  # the SDK asks for it by itself and decodes it
    return {**sent, **extra}


def _answer(file: OgxFile, path: str) -> ImportedAnswer:
    response = file.response
    body, failed = response.get("body"), response.get("is_exception") is True
    if response.get("is_streaming") is True:
        if not isinstance(body, list):
            raise RefusedSource("its answer is a stream without a list of events")
        return _stream(body, response if failed else None)
    if failed:
        return _exception(response)
    if body is None:
        raise RefusedSource("its answer is null, and it says of no exception")
    if path == "/models":
        return ImportedAnswer(status=200, headers=JSON, body=compact(_models(body)))
    known = (ogx_file.CHAT, ogx_file.COMPLETION, ogx_file.EMBEDDINGS, ogx_file.RESPONSE)
    return ImportedAnswer(status=200, headers=JSON, body=compact(unwrapped(body, *known)))


def _models(body: Any) -> dict[str, Any]:
    if not isinstance(body, list):
        raise RefusedSource("its answer is no list of models")
    return {"object": "list", "data": [unwrapped(item, ogx_file.MODEL) for item in body]}


def _stream(body: Sequence[Any], failed: Mapping[str, Any] | None) -> ImportedAnswer:
    events = []
    for item in body:
        name = type_of(item) or ""
        if ogx_file.RESPONSE_EVENT.fullmatch(name):
            kind = item[ogx_file.DATA].get("type")
            if not isinstance(kind, str) or not _EVENT.fullmatch(kind):
                raise RefusedSource("its answer has an event without a name")
            events.append(b"event: " + kind.encode() + b"\ndata: " + compact(item[ogx_file.DATA]) + b"\n\n")
        else:
            events.append(b"data: " + compact(unwrapped(item, ogx_file.CHUNK, ogx_file.COMPLETION)) + b"\n\n")
    if failed is not None:
        # The SDK says what it made of it, not what the network did: the stream ends here, before it was whole.
        broken = failures.tell(failures.Kind.READ, "")
        return ImportedAnswer(status=200, headers=SSE, body=b"".join(events), exception=broken)
    if not events or not events[0].startswith(b"event:"):
        events.append(b"data: [DONE]\n\n")
    return ImportedAnswer(status=200, headers=SSE, body=b"".join(events))


def _exception(response: Mapping[str, Any]) -> ImportedAnswer:
    data = response.get("exception_data")
    if not isinstance(data, dict):
        raise RefusedSource("it says of an exception and not of which")
    status, body = data.get("status_code"), data.get("body")
    if data.get("provider") != "openai" or not isinstance(status, int) or not 400 <= status <= 599:
        raise RefusedSource(f"its exception is {data.get('type')!r}, which is no answer of a provider")
    whole = _in_message(data.get("message"), body)
    if whole is None:
        whole = {"error": body}
    return ImportedAnswer(status=status, headers=JSON, body=compact(whole))


def _in_message(message: Any, body: Any) -> Any:
    """The whole answer, which the SDK's message shows as Python writes it: `Error code: 400 - {'error': …}`.

    `body` is what the SDK took out of it; None when the message shows something else.
    """
    if not isinstance(message, str) or len(message) > _MESSAGE_LIMIT:
        return None
    try:
        shown = ast.literal_eval(message.partition(" - ")[2])
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return shown if isinstance(shown, dict) and shown.get("error", shown) == body else None
