"""One module for each server that ids are carried into, loaded when the server's own module is imported."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ...patching import UnsupportedVersionError

# Module of the server → module of this package whose `put_in(module, brain)` wraps the application there.
SERVERS: Mapping[str, str] = {
    "aiohttp.web_protocol": "aiohttp_web",
    "granian.asgi": "granian",
    "granian.rsgi": "granian",
    "granian.wsgi": "granian",
    "gunicorn.workers.base_async": "gunicorn",
    "gunicorn.workers.gasgi": "gunicorn",
    "gunicorn.workers.gthread": "gunicorn",
    "gunicorn.workers.sync": "gunicorn",
    "hypercorn.utils": "hypercorn",
    "uvicorn.config": "uvicorn",
    "werkzeug.serving": "werkzeug",
    "wsgiref.simple_server": "wsgiref",
}


def found(module: ModuleType, path: str) -> Any:
    """What a server's module has at `path`; UnsupportedVersionError where this version of it has no such thing."""
    thing: Any = module
    for name in path.split("."):
        thing = getattr(thing, name, None)
    if thing is None:
        raise UnsupportedVersionError(
            f"{module.__name__} has no {path} in the version that is installed, so ids of tests cannot be carried into"
            " it; another version can, and the edge needs none (`recorder: edge` in stack.yaml)"
        )
    return thing
