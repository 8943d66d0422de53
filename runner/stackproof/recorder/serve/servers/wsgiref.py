"""The standard library's WSGI server, on which Django's `runserver` is built."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ...brain import Brain
from ..wsgi import WSGIMiddleware
from . import found


def put_in(module: ModuleType, brain: Brain) -> None:
    """Wrap the application that a server of `wsgiref.simple_server` is given."""
    give = found(module, "WSGIServer.set_app")

    def give_with_scope(self: Any, application: Any) -> None:
        give(self, application and WSGIMiddleware(application, brain, "wsgiref"))

    module.WSGIServer.set_app = give_with_scope
