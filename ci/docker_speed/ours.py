"""`python -m ci.docker_speed.ours PROJECT`: one start of `docker:reference` in replay and its end, in a fresh process.

Prints one JSON object: seconds from the start of the cell's stack (nothing of the engine is known yet, the SDK is not
loaded) to the first 200, of the teardown, and of every call to the engine.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from stackproof import catalog, environment, options, plan
from stackproof.run import contained
from stackproof.stack import ports
from stackproof.stack import start as stack_start

CALLS = (
    "image", "build", "create_network", "in_network", "attach", "remove_network", "create", "start", "state",
    "run_inside", "stop", "remove", "owned", "changes", "converse",
)  # fmt: skip


def main(project: Path) -> dict[str, Any]:
    """Start it, end it, and say how long each part took."""
    caller = dict(os.environ)
    chosen = options.resolve({"stack_config": "docker:reference", "setup": "ollama"}, caller, project)
    (cell,) = plan.make(chosen, catalog.load(project), project, "5beed0", caller=caller).cells
    folder = Path(tempfile.mkdtemp(prefix="stackproof-speed-"))
    cell_dir = folder / "cells" / cell.id
    cell_dir.mkdir(parents=True)
    calls: list[tuple[str, float, float]] = []
    said: list[str] = []
    try:
        with ExitStack() as undo:
            began = time.monotonic()
            address = stack_start.base_url(cell.stack, cell.mode, ports.free_port())
            order = contained.Order(
                cell=cell,
                build=partial(
                    environment.build,
                    cell=cell,
                    options=chosen,
                    project=project,
                    run_id="5beed0",
                    cell_dir=cell_dir,
                    caller=caller,
                    base_url=address,
                    service_url=None,
                ),
                options=chosen,
                project=project,
                cell_dir=cell_dir,
                run_id="5beed0",
                owner=os.getpid(),
                caller=caller,
                say=said.append,
                check=lambda: None,
            )
            _note(calls, began)
            contained.start(order, undo)
            ready = time.monotonic()
        ended = time.monotonic()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    built = any("building" in line for line in said)
    return {"ready": ready - began, "teardown": ended - ready, "calls": calls, "built": built}


def _note(calls: list[tuple[str, float, float]], began: float) -> None:
    """Take down every call from now on: its name, when it began, and how long it took."""
    from stackproof.stack import engine  # noqa: PLC0415 - beside what is measured

    def noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def wrapped(*given: Any, **named: Any) -> Any:
            start = time.monotonic()
            try:
                return call(*given, **named)
            finally:
                calls.append((name, start - began, time.monotonic() - start))

        return wrapped

    for name in CALLS:
        if hasattr(engine.Engine, name):
            setattr(engine.Engine, name, noted(name, getattr(engine.Engine, name)))
    engine.connect = noted("connect", engine.connect)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]).absolute())))
