"""aiohttp.web: one method serves a request, from its handler to the last byte of its body, in a task of its own."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ... import client
from ... import scope as scopes
from ...brain import Brain
from ..serving import BAGGAGE, PROBE, Serving, split_baggage
from . import found


def put_in(module: ModuleType, brain: Brain) -> None:
    """Put each request's scope in force around `RequestHandler._handle_request` of `aiohttp.web_protocol`."""
    handle = found(module, "RequestHandler._handle_request")
    serving = Serving(brain, "aiohttp.web")

    async def handle_with_scope(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        owner = _take_ours_out(request, serving)

        def left() -> bool:
            return self.transport is None or self.transport.is_closing()

        with scopes.use(owner), client.use(left):
            end = serving.begin(owner, lasting=request.headers.get("upgrade", "").lower() == "websocket")
            try:
                return await handle(self, request, *args, **kwargs)
            finally:
                end()

    module.RequestHandler._handle_request = handle_with_scope


def _take_ours_out(request: Any, serving: Serving) -> scopes.Scope:
    headers = request._message.headers  # the property would remember what it gave
    left: dict[str, str | None] = {}
    owner: scopes.Scope | None = None
    baggage: str | None = None
    if (value := headers.get(serving.header)) is not None:
        owner, left[serving.header] = serving.id_in(value)
    if (value := headers.get(BAGGAGE)) is not None:
        baggage, left[BAGGAGE] = split_baggage(value)
    if PROBE in headers:
        left[PROBE] = None
    if left:
        _replace(request, left)
    return serving.received(owner, baggage, probe=PROBE in left)


def _replace(request: Any, left: dict[str, str | None]) -> None:
    """Give a request other values in place of these headers, None or nothing for none."""
    # `request.clone(headers=…)` would be the public way, and fails for values that are no text.
    message = request._message
    headers = message.headers.copy()
    for name, value in left.items():
        del headers[name]
        if value:
            headers[name] = value
    taken = {name.encode("latin-1") for name in left}
    raw = [pair for pair in message.raw_headers if pair[0].lower() not in taken]
    raw += [(name.encode("latin-1"), value.encode("utf-8", "surrogateescape")) for name, value in left.items() if value]
    proxy = type(message.headers)(headers)
    request._message = message._replace(headers=proxy, raw_headers=tuple(raw))
    request._headers = proxy
