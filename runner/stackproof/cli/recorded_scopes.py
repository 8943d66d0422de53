"""Whose recordings there are, told from the first lines of a file for each scope: a shell waits for the answer."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import click

from stackproof import options

LIMIT = 0.5  # seconds to look; what was found until then is better than to be waited for
_SCOPE = re.compile(rb'^  "scope": ("(?:[^"\\]|\\.)*")', re.MULTILINE)
_HEAD = 2000  # bytes in which a file names its scope, which stands above the request


def of(context: click.Context) -> set[str]:
    """Node ids of tests and `fixture:…` below the recording directory, of the setups that were given or of all."""
    chosen = {} if context.params.get("recording_dir") is None else {"recording_dir": context.params["recording_dir"]}
    root = context.obj.project / options.resolve(chosen, context.obj.environ, context.obj.project).recording_dir
    wanted = context.params.get("setup") or ()
    end, found = time.monotonic() + LIMIT, set[str]()
    for start in [root / setup for setup in ([wanted] if isinstance(wanted, str) else wanted)] or [root]:
        for folder, _, names in os.walk(start):
            # The first twelve digits of a name are those of its scope.
            for name in {name[:12]: name for name in names if name.endswith(".json")}.values():
                scope = _scope(Path(folder, name))
                if "::" in scope or scope.startswith("fixture:"):
                    found.add(scope)
                if time.monotonic() > end:
                    return found
    return found


def _scope(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = _SCOPE.search(file.read(_HEAD))
        return str(json.loads(head[1])) if head is not None else ""
    except (OSError, ValueError):
        return ""
