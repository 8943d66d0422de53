"""granian: its Rust part calls what one function for each interface (ASGI, RSGI, WSGI) makes of the application."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ... import scope as scopes
from ...brain import Brain
from ..asgi import ScopeMiddleware
from ..serving import BAGGAGE, PROBE, Serving, split_baggage
from ..wsgi import WSGIMiddleware
from . import found

_NAME = "granian"


def put_in(module: ModuleType, brain: Brain) -> None:
    """Wrap the application in each worker, before `_callback_wrapper` of the module does."""
    wrap = found(module, "_callback_wrapper")
    middleware: Callable[..., Any] = {
        "granian.asgi": ScopeMiddleware,
        "granian.rsgi": _RSGIMiddleware,
        "granian.wsgi": WSGIMiddleware,
    }[module.__name__]

    def wrap_with_scope(callback: Any, *args: Any, **kwargs: Any) -> Any:
        return wrap(middleware(callback, brain, _NAME), *args, **kwargs)

    module._callback_wrapper = wrap_with_scope  # type: ignore[attr-defined]


class _RSGIMiddleware:
    """granian's own protocol. Its request is an object of Rust that nothing can be taken out of: our headers stay."""

    def __init__(self, app: Callable[[Any, Any], Any], brain: Brain, server: str) -> None:
        self._app = app
        self._serving = Serving(brain, server)

    async def __call__(self, scope: Any, protocol: Any) -> Any:
        """Serve one connection."""
        headers = scope.headers
        value, baggage = headers.get(self._serving.header), headers.get(BAGGAGE)
        owner = self._serving.received(
            self._serving.id_in(value)[0] if value else None,
            split_baggage(baggage)[0] if baggage else None,
            probe=headers.get(PROBE) is not None,
        )
        with scopes.use(owner):
            end = self._serving.begin(owner, lasting=scope.proto != "http")
            try:
                return await self._app(scope, protocol)
            finally:
                end()
