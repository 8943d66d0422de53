"""`/v1/responses`: passed on as they are, unless the gateway has a part in them.

It has one in what is to be stored, in what goes on from a stored response, in `file_search`, which it does itself, and
in `web_search` where it can search the web; where it cannot, that is the provider's. A request with functions, or with
tools that the gateway hosts, is a turn of its agent runtime.
Unlike OpenAI's API it stores a response only when it is told to (`store: true`), and it keeps it from the provider
(`store: false`), which would otherwise store it too.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reference_stack.answers import Dialect, RefusedError
from reference_stack.asked import answering, body_of, late_of, page, provider_of, store_of
from reference_stack.file_search import KIND as FILES
from reference_stack.file_search import search_files
from reference_stack.ids import Kind, new_id
from reference_stack.late_routes import imported
from reference_stack.relay import relay
from reference_stack.response_rewriting import Own
from reference_stack.responses_tools import offered
from reference_stack.responses_turn import answer
from reference_stack.searching import Searched
from reference_stack.store import Table

WEB = "web_search"


async def create(request: Request) -> Response:
    """Ask a model."""
    body = await body_of(request, ("model",))
    provider, clients, model = provider_of(request, body["model"])
    offer = offered(request.state.hosted, _tools(request, body), body.get("tool_choice"))
    own = await _own(request, body) if offer or _is_ours(request, body) else None
    if own is not None and offer is not None:
        return await answer(request, own, offer)
    sent = {**(body if own is None else own.sent), "model": model}
    named: dict[str, Any] = {"model": sent.pop("model")}
    if isinstance(sent.get("stream"), bool):
        named["stream"] = sent.pop("stream")
    if sent:
        named["extra_body"] = sent
    upstream = clients.openai.responses.with_streaming_response.create(**named)
    return await relay(
        upstream,
        dialect=Dialect.OPENAI,
        provider=provider,
        streamed=body.get("stream") is True,
        request=request,
        rewriting=own,
    )


async def retrieve(request: Request) -> Response:
    """A stored response."""
    return JSONResponse((await _stored(request))["response"])


async def delete(request: Request) -> Response:
    """Forget a stored response; what went on from it keeps its own copy of the conversation."""
    name = (await _stored(request))["response"]["id"]
    await store_of(request).delete(Table.RESPONSE, name)
    return JSONResponse({"id": name, "object": "response", "deleted": True})


async def input_items(request: Request) -> Response:
    """What a stored response was asked with; the last item first."""
    return JSONResponse(page(request, (await _stored(request))["input"]))


def _is_ours(request: Request, body: dict[str, Any]) -> bool:
    return body.get("store") is True or body.get("previous_response_id") is not None or bool(_searches(request, body))


def _searches(request: Request, body: dict[str, Any]) -> list[dict[str, Any]]:
    tools = body.get("tools")
    found = tools if isinstance(tools, list) else []
    kinds = (FILES,) if request.state.search is None else (FILES, WEB)
    return [tool for tool in found if isinstance(tool, dict) and _kind(tool.get("type")) in kinds]


def _tools(request: Request, body: dict[str, Any]) -> Any:
    """The tools that are left when the searches are done."""
    ours = _searches(request, body)
    return [tool for tool in body["tools"] if tool not in ours] if ours else body.get("tools")


def _kind(name: Any) -> Any:
    # `web_search_preview` and versions with a date are the same tool.
    return WEB if isinstance(name, str) and name.startswith(WEB) else name


async def _searched(request: Request, tool: dict[str, Any], items: list[dict[str, Any]]) -> Searched:
    if _kind(tool.get("type")) == FILES:
        return await search_files(request, tool, items)
    module = await imported("web_search")
    found: Searched = await module.search_web(late_of(request), request.state.search, tool, items)
    return found


async def _own(request: Request, body: dict[str, Any]) -> Own:
    """What becomes of the request, and of its answer."""
    before = await _turns_before(request, body)
    items = _items(body)
    ours = _searches(request, body)
    searches = [await _searched(request, tool, items) for tool in ours]
    found = [item for each in searches for item in each.for_the_model]
    turns = [*before, *items, *found]
    return Own(
        asked=body,
        sent=_sent(body, turns, ours),
        turns=turns,
        new=len(items) + len(found),
        input_items=[{"id": new_id(Kind.MESSAGE), **_listed(item)} for item in items] if body.get("store") else [],
        response_id=new_id(Kind.RESPONSE),
        searches=[each.item for each in searches],
        store=store_of(request),
    )


def _sent(body: dict[str, Any], turns: list[dict[str, Any]], ours: list[dict[str, Any]]) -> dict[str, Any]:
    """The request as the provider gets it: the whole conversation, and nothing that is the gateway's to do."""
    sent = {key: value for key, value in body.items() if key != "previous_response_id"}
    sent |= {"input": turns, "store": False}
    kinds = {_kind(tool["type"]) for tool in ours}
    if ours:
        sent["tools"] = [tool for tool in body["tools"] if tool not in ours]
        if not sent["tools"]:
            for name in ("tools", "tool_choice"):
                sent.pop(name, None)
        elif isinstance(sent.get("tool_choice"), dict) and _kind(sent["tool_choice"].get("type")) in kinds:
            del sent["tool_choice"]
    if isinstance(sent.get("include"), list):
        gone = tuple(f"{kind}_call." for kind in {FILES, *kinds})
        sent["include"] = [what for what in sent["include"] if not str(what).startswith(gone)]
        if not sent["include"]:
            del sent["include"]
    return sent


async def _turns_before(request: Request, body: dict[str, Any]) -> list[dict[str, Any]]:
    name = body.get("previous_response_id")
    if name is None:
        return []
    found = await store_of(request).get(Table.RESPONSE, str(name))
    if found is None:
        text = f"Previous response with id {name!r} not found."
        raise RefusedError(400, text, code="previous_response_not_found", param="previous_response_id")
    turns: list[dict[str, Any]] = found["turns"]
    return turns


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("input", [])
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, list) and all(isinstance(item, dict) for item in given):
        return given
    raise RefusedError(400, "The parameter 'input' must be a text or a list of items.", param="input")


def _listed(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it is listed: a message says that it is one, and its text is a part of its content."""
    if "role" not in item or item.get("type", "message") != "message":
        return item
    content = item.get("content")
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"status": "completed", **item, "type": "message", "content": parts}


async def _stored(request: Request) -> dict[str, Any]:
    name = request.path_params["response_id"]
    found = await store_of(request).get(Table.RESPONSE, name)
    if found is None:
        raise RefusedError(404, f"Response with id {name!r} not found.", param="id")
    return found


_ONE = "/v1/responses/{response_id}"
ROUTES = (
    Route("/v1/responses", answering(create), methods=["POST"]),
    Route(_ONE, answering(retrieve)),
    Route(_ONE, answering(delete), methods=["DELETE"]),
    Route(f"{_ONE}/input_items", answering(input_items)),
)
