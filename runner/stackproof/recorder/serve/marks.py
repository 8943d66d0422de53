"""The mark of a process: a file of the run folder that says that the recorder is in it, and which server."""

from __future__ import annotations

import json
import os
import sys

from ..brain import Brain


def leave(brain: Brain, server: str | None = None) -> None:
    """Write `marks/<pid>.json`: pid, python, executable, and server once a request has come through one we know."""
    folder = os.path.join(brain.settings.run_dir, "marks")
    os.makedirs(folder, exist_ok=True)
    facts = {"pid": os.getpid(), "python": sys.version.split()[0], "executable": sys.executable}
    if server is not None:
        facts["server"] = server
    path = os.path.join(folder, f"{os.getpid()}.json")
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(facts, file)
    os.replace(f"{path}.tmp", path)
