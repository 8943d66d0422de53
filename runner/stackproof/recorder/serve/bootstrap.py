"""Runs first in every Python process of a stack: installs the recorder as the environment says and leaves a mark."""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType
from typing import Any

from .. import hooks, install
from ..brain import Brain
from ..settings import VARIABLE, Settings
from .asgi import ScopeMiddleware

_FAILED = 70


def start() -> None:
    """Install, or end the process: a stack that runs without the recorder would call real providers unseen."""
    text = os.environ.get(VARIABLE)
    if not text:
        return
    try:
        brain = install.install(Settings.from_json(text))
        hooks.on_import({"uvicorn.config": lambda module: _wrap_uvicorn(module, brain)})
        mark(brain)
    except Exception as error:
        print(f"stackproof: the recorder could not be installed: {error}", file=sys.stderr, flush=True)
        os._exit(_FAILED)


def mark(brain: Brain) -> None:
    """Leave a file named after this process in the run folder: the recorder is in it."""
    folder = os.path.join(brain.settings.run_dir, "marks")
    os.makedirs(folder, exist_ok=True)
    facts = {"pid": os.getpid(), "python": sys.version.split()[0], "executable": sys.executable}
    path = os.path.join(folder, f"{os.getpid()}.json")
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(facts, file)
    os.replace(f"{path}.tmp", path)


def _wrap_uvicorn(module: ModuleType, brain: Brain) -> None:
    load = module.Config.load

    def load_with_scope(self: Any) -> None:
        load(self)
        # Whatever interface the application has, uvicorn has made it ASGI by now.
        self.loaded_app = ScopeMiddleware(self.loaded_app, brain)

    module.Config.load = load_with_scope
