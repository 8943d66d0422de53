"""Runs first in every Python process of a stack: installs the recorder as the environment says and leaves a mark."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from types import ModuleType

from .. import hooks, install
from ..brain import Brain
from ..settings import VARIABLE, Settings
from . import marks
from .servers import SERVERS

_FAILED = 70


def start() -> None:
    """Install, or end the process: a stack that runs without the recorder would call real providers unseen."""
    text = os.environ.get(VARIABLE)
    if not text:
        return
    try:
        brain = install.install(Settings.from_json(text))
        hooks.on_import({name: functools.partial(_put_in, brain, server) for name, server in SERVERS.items()})
        marks.leave(brain)
    except Exception as error:
        print(f"stackproof: the recorder could not be installed: {error}", file=sys.stderr, flush=True)
        os._exit(_FAILED)


def _put_in(brain: Brain, server: str, module: ModuleType) -> None:
    """Hand a server, once it is there, to the module that knows it. Until then, load neither."""
    importlib.import_module(f".servers.{server}", __package__).put_in(module, brain)
