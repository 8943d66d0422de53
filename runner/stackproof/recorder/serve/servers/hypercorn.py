"""hypercorn: every application, ASGI or WSGI, becomes a wrapper of its own kind in one function."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ...brain import Brain
from ..asgi import ScopeMiddleware
from ..wsgi import WSGIMiddleware
from . import found


def put_in(module: ModuleType, brain: Brain) -> None:
    """Wrap what `hypercorn.utils.wrap_app` has wrapped: which kind it is has been found out by then."""
    wrap, wsgi = found(module, "wrap_app"), found(module, "WSGIWrapper")

    @functools.wraps(wrap)
    def wrap_with_scope(*args: Any, **kwargs: Any) -> Any:
        wrapper = wrap(*args, **kwargs)
        middleware: Any = WSGIMiddleware if isinstance(wrapper, wsgi) else ScopeMiddleware
        wrapper.app = middleware(wrapper.app, brain, "hypercorn")
        return wrapper

    module.wrap_app = wrap_with_scope  # type: ignore[attr-defined]
