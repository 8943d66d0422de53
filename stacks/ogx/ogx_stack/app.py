"""OGX's own ASGI application, for tests in the same process."""

from __future__ import annotations

import importlib
import os
from typing import Any

from . import place


def create_app() -> Any:
    """What `ogx run` serves, made from this process's variables. ImportError where OGX is not installed."""
    os.environ.update(place.prepare(os.environ, host="127.0.0.1"))
    return importlib.import_module("ogx.core.server.server").create_app()
