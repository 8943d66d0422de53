"""werkzeug's development server, which `flask run` and `app.run()` start, too: one thread, threads, or processes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ...brain import Brain
from ..wsgi import WSGIMiddleware
from . import found


def put_in(module: ModuleType, brain: Brain) -> None:
    """Wrap the application of every server that `werkzeug.serving` makes."""
    make = found(module, "BaseWSGIServer.__init__")

    def make_with_scope(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.app = WSGIMiddleware(self.app, brain, "werkzeug")

    module.BaseWSGIServer.__init__ = make_with_scope
