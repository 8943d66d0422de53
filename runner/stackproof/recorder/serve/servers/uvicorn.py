"""uvicorn: whatever interface an application has, it is ASGI once its configuration is loaded."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ...brain import Brain
from ..asgi import ScopeMiddleware
from . import found


def put_in(module: ModuleType, brain: Brain) -> None:
    """Wrap the application of every `Config` (`uvicorn.config`); gunicorn's uvicorn workers have one, too."""
    load = found(module, "Config.load")

    def load_with_scope(self: Any) -> None:
        load(self)
        self.loaded_app = ScopeMiddleware(self.loaded_app, brain, "uvicorn")

    module.Config.load = load_with_scope
