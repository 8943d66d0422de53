"""The mark of a process: a file of the run folder that says that the recorder is in it, and which server."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ..brain import Brain


def leave(brain: Brain, server: str | None = None) -> None:
    """Write `marks/<pid>.json`: pid, python, executable, and server once a request has come through one we know.

    stack: where the process's stack begins (startstack of proc(5)). A process that has become another program since
    has the same id and another stack.
    """
    folder = os.path.join(brain.settings.run_dir, "marks")
    os.makedirs(folder, exist_ok=True)
    facts: dict[str, Any] = {"pid": os.getpid(), "python": sys.version.split()[0], "executable": sys.executable}
    if server is not None:
        facts["server"] = server
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            facts["stack"] = int(file.read().rpartition(")")[2].split()[25])
    except OSError:
        pass
    path = os.path.join(folder, f"{os.getpid()}.json")
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(facts, file)
    os.replace(f"{path}.tmp", path)
