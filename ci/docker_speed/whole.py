"""A whole run with one test: how long after that test container, network and processes are gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from . import stamp
from .ten import WITHOUT

TEST = "tests/integration/base/test_models.py"
_DEADLINE = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Gone:
    """Seconds after the last test.

    pytest: until it has ended and the stack is told to end. engine: until container and network are gone. processes:
    until those of the cell are. command: until `stackproof run` itself has written its evidence and ended.
    """

    pytest: float
    engine: float
    processes: float
    command: float


def run(project: Path, *arguments: str) -> Gone:
    """Run it; CalledProcessError when it does not pass."""
    with tempfile.TemporaryDirectory(prefix="stackproof-speed-") as folder:
        path = Path(folder, "stamp")
        began = time.time()
        command = [
            sys.executable, "-m", "stackproof", "run", "--setup", "ollama", "--stack-config", "docker:reference",
            *arguments, "--", "-p", "ci.docker_speed.stamp",
        ]  # fmt: skip
        subprocess.run(
            command,
            cwd=project,
            env={**os.environ, stamp.VARIABLE: str(path), "PYTEST_ADDOPTS": WITHOUT},
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=_DEADLINE,
        )
        ended = time.time()
        last = float(path.read_text())
    runs = project / ".stackproof" / "runs"
    newest = max(runs.iterdir(), key=lambda item: item.stat().st_mtime)
    outcomes = [json.loads(item.read_text()) for item in newest.glob("cells/*/outcome.json")]
    stopped = max(datetime.fromisoformat(item["stopped"]).timestamp() for item in outcomes)
    events = _events(newest.name, since=began, until=ended)
    return Gone(
        pytest=min(at for action, at in events if action == "kill") - last,
        engine=max(at for action, at in events if action == "destroy") - last,
        processes=stopped - last,
        command=ended - last,
    )


def _events(run_id: str, *, since: float, until: float) -> Sequence[tuple[str, float]]:
    """What the engine did to what belongs to a run, and when, in seconds since the epoch."""
    span = ["--since", f"{since:.3f}", "--until", f"{until + 1:.0f}"]
    listed = subprocess.run(
        ["docker", "events", *span, "--format", "{{json .}}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=_DEADLINE,
    )
    events: list[Mapping[str, object]] = [json.loads(line) for line in listed.stdout.splitlines()]
    ours = [event for event in events if f"stackproof-{run_id}-" in json.dumps(event)]
    return [(str(event["Action"]), int(str(event["timeNano"])) / 1e9) for event in ours]
