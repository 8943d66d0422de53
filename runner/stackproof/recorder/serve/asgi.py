"""Around an ASGI application: whose request this is, put in force for everything that serving it starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .. import scope as scopes
from ..brain import Brain
from .serving import BAGGAGE, PROBE, Serving, split_baggage

ASGIScope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]
Application = Callable[[ASGIScope, Channel, Channel], Awaitable[None]]
_PROBE, _BAGGAGE = PROBE.encode(), BAGGAGE.encode()


class ScopeMiddleware:
    """Pure ASGI, so that streams, background tasks and exceptions pass through untouched."""

    def __init__(self, app: Application, brain: Brain, server: str = "asgi") -> None:
        self._app = app
        self._serving = Serving(brain, server)
        self._header = self._serving.header.encode("latin-1")

    async def __call__(self, scope: ASGIScope, receive: Channel, send: Channel) -> None:
        """Serve one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        owner, headers = self._take_ours_out(scope["headers"])
        with scopes.use(owner):
            end = self._serving.begin(owner, lasting=scope["type"] == "websocket")
            try:
                await self._app({**scope, "headers": headers}, receive, send)
            finally:
                end()

    def _take_ours_out(self, headers: Any) -> tuple[scopes.Scope, list[tuple[bytes, bytes]]]:
        owner: scopes.Scope | None = None
        rest: list[tuple[bytes, bytes]] = []
        baggage: str | None = None
        probe = False
        for name, value in headers:
            if name == self._header:
                owner, left = self._serving.id_in(value.decode("latin-1"))
                if left is not None:
                    rest.append((name, left.encode("latin-1", "backslashreplace")))
            elif name == _PROBE:
                probe = True
            elif name == _BAGGAGE:
                baggage, others = split_baggage(value.decode("latin-1"))
                if others:
                    rest.append((name, others.encode("latin-1")))
            else:
                rest.append((name, value))
        return self._serving.received(owner, baggage, probe=probe), rest
