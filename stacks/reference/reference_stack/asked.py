"""What a request asks for: its JSON body, its page of a list, and the provider that its model names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from reference_stack.answers import (
    Dialect,
    RefusedError,
    failures,
    provider_error,
    refusal,
)
from reference_stack.clients import Clients
from reference_stack.late import LateClients
from reference_stack.providers import NOT_SERVED
from reference_stack.relay import ClientLeftError
from reference_stack.store import Store
from reference_stack.strict_json import read_json

Handler = Callable[[Request], Awaitable[Response]]


async def body_of(request: Request, required: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON object that was sent; RefusedError when it is none, or lacks a field."""
    try:
        body = read_json(await request.body())
    except ValueError as error:
        raise RefusedError(400, f"The request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise RefusedError(400, "The request body must be a JSON object.")
    for name in required:
        if name not in body:
            raise RefusedError(400, f"Missing required parameter: {name!r}.", param=name)
    if "model" in required and not isinstance(body["model"], str):
        raise RefusedError(400, "The parameter 'model' must be a string.", param="model")
    return body


def provider_of(request: Request, name: str) -> tuple[str, Clients, str]:
    """Provider, its clients and its own name of the model that is called `provider/model` here."""
    known: dict[str, Clients] = request.state.clients
    provider, _, model = name.partition("/")
    if provider in NOT_SERVED:
        text = f"The model {name!r} is not served: the provider {provider!r} {NOT_SERVED[provider]}."
        raise RefusedError(404, text, code="model_not_found")
    if provider not in known or not model:
        text = f"The model {name!r} does not exist: models are named provider/model, with a provider out of: "
        raise RefusedError(404, text + (", ".join(known) or "(none is configured)"), code="model_not_found")
    request.state.provider = provider  # for whoever has to say that it gave no answer
    return provider, known[provider], model


def store_of(request: Request) -> Store:
    """Where this gateway keeps its state."""
    store: Store = request.state.store
    return store


def late_of(request: Request) -> LateClients:
    """The clients that are made when they are needed."""
    late: LateClients = request.state.late
    return late


def page(request: Request, items: Sequence[dict[str, Any]], *, largest: int = 100, usual: int = 20) -> dict[str, Any]:
    """The part of a list (oldest first) that `order`, `after` and `limit` of the query ask for, as a list object."""
    query = request.query_params
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise RefusedError(400, f"The parameter 'order' is 'asc' or 'desc', not {order!r}.", param="order")
    text = query.get("limit", str(usual))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= largest):
        raise RefusedError(
            400, f"The parameter 'limit' is a whole number from 1 to {largest}, not {text!r}.", param="limit"
        )
    found = list(items) if order == "asc" else list(reversed(items))
    after = query.get("after")
    if after is not None:
        names = [item["id"] for item in found]
        if after not in names:
            raise RefusedError(400, f"Nothing in this list has the id {after!r}.", param="after")
        found = found[names.index(after) + 1 :]
    data = found[: int(text)]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": len(found) > len(data),
    }


def answering(handler: Handler, *, dialect: Dialect = Dialect.OPENAI) -> Handler:
    """The handler, with what it raises turned into an answer."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except RefusedError as error:
            return refusal(dialect, error)
        except failures() as error:
            return provider_error(dialect, getattr(request.state, "provider", ""), error)
        except UnicodeEncodeError:
            text = "The request body holds half of a surrogate pair, which is no character."
            return refusal(dialect, RefusedError(400, text))
        except ClientLeftError:
            return Response(status_code=499)  # nobody reads it; the number is nginx's for this case

    return handle
