"""gunicorn: each kind of worker that it has. Workers of others (uvicorn, aiohttp) bring a server of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...brain import Brain
from ..asgi import ScopeMiddleware
from ..wsgi import WSGIMiddleware
from . import found

# Module → worker class, the attribute that its application is in, what goes around it.
_WORKERS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "gunicorn.workers.base_async": ("AsyncWorker", "wsgi", WSGIMiddleware),  # gevent, eventlet
    "gunicorn.workers.gasgi": ("ASGIWorker", "asgi", ScopeMiddleware),
    "gunicorn.workers.gthread": ("ThreadWorker", "wsgi", WSGIMiddleware),
    "gunicorn.workers.sync": ("SyncWorker", "wsgi", WSGIMiddleware),
}


def put_in(module: ModuleType, brain: Brain) -> None:
    """Wrap the application where a worker has loaded it: after its fork, also where the master has preloaded it."""
    name, attribute, middleware = _WORKERS[module.__name__]
    worker = getattr(module, name)
    load = found(module, f"{name}.load_wsgi")

    def load_with_scope(self: Any) -> None:
        load(self)
        setattr(self, attribute, middleware(getattr(self, attribute), brain, "gunicorn"))

    worker.load_wsgi = load_with_scope
