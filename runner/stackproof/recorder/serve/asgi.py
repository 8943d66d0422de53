"""Around an ASGI application: whose request this is, put in force for everything that serving it starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .. import scope as scopes
from ..brain import Brain

ASGIScope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]
Application = Callable[[ASGIScope, Channel, Channel], Awaitable[None]]
# Sent while the stack starts: such a request belongs to no test, and what it calls belongs to the stack.
PROBE = b"x-stackproof-probe"


class ScopeMiddleware:
    """Pure ASGI, so that streams, background tasks and exceptions pass through untouched."""

    def __init__(self, app: Application, brain: Brain) -> None:
        self._app = app
        self._brain = brain
        self._header = brain.settings.header.lower().encode("latin-1")

    async def __call__(self, scope: ASGIScope, receive: Channel, send: Channel) -> None:
        """Serve one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        owner, headers = self._take_ours_out(scope["headers"])
        with scopes.use(owner):
            if owner is scopes.STACK or owner is scopes.UNKNOWN:
                await self._app({**scope, "headers": headers}, receive, send)
                return
            # A connection that stays open for ever is nothing that the end of a test could wait for.
            token = self._brain.ledger.begin_serving(owner) if scope["type"] == "http" else None
            self._brain.requests_with_scope += 1
            try:
                await self._app({**scope, "headers": headers}, receive, send)
            finally:
                self._brain.requests_with_scope -= 1
                if token is not None:
                    self._brain.ledger.done(token)

    def _take_ours_out(self, headers: Any) -> tuple[scopes.Scope, list[tuple[bytes, bytes]]]:
        owner: scopes.Scope | None = None
        rest: list[tuple[bytes, bytes]] = []
        baggage: str | None = None
        for name, value in headers:
            if name == self._header:
                owner, left = scopes.from_header(value.decode("latin-1"), self._brain.settings.run_dir)
                if left is not None:
                    rest.append((name, left.encode("latin-1", "backslashreplace")))
            elif name == PROBE:
                owner = scopes.STACK
            elif name == b"baggage":
                baggage, others = _split_baggage(value.decode("latin-1"))
                if others:
                    rest.append((name, others.encode("latin-1")))
            else:
                rest.append((name, value))
        if owner is None and baggage:
            owner = scopes.Scope(name=baggage, test_id=None if baggage.startswith("fixture:") else baggage)
        return owner or scopes.UNKNOWN, rest


def _split_baggage(value: str) -> tuple[str | None, str]:
    """Our member of a W3C baggage header, decoded, and the header without it."""
    from urllib.parse import unquote

    ours: str | None = None
    others = []
    for member in value.split(","):
        key, _, text = member.strip().partition("=")
        if key == "stackproof.scope":
            ours = unquote(text)
        else:
            others.append(member.strip())
    return ours, ",".join(others)
