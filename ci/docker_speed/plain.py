"""What starts are compared with: the same image and command by `docker run`, and the same stack on this machine."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from pathlib import Path

from stackproof.stack import ports

COMMAND = ("-m", "uvicorn", "--factory", "reference_stack.app:create_app", "--no-access-log")
PORT = 8000
_DEADLINE = 60.0
_STEP = 0.01


def contained(image: str) -> float:
    """Seconds from `docker run --detach` of the stack to its first 200, on the engine's ordinary network."""
    began = time.monotonic()
    name = _docker(
        "run", "--detach", image, "/venv/bin/python", *COMMAND, "--host", "0.0.0.0", "--port", str(PORT)  # noqa: S104
    )  # fmt: skip
    try:
        address = _docker("inspect", "--format", "{{.NetworkSettings.IPAddress}}", name)
        return _answered(address, PORT, began)
    finally:
        _docker("rm", "--force", name)


def nothing(image: str) -> float:
    """Seconds that `docker run --rm IMAGE true` takes."""
    began = time.monotonic()
    _docker("run", "--rm", image, "true")
    return time.monotonic() - began


def bare(project: Path) -> float:
    """Seconds from the start of the stack as a process of this machine, with no recorder, to its first 200."""
    port = ports.free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STACKPROOF_")}
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--host", ports.LOOPBACK, "--port", str(port)],
        cwd=project / "stacks" / "reference",
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return _answered(ports.LOOPBACK, port, began)
    finally:
        process.terminate()
        process.wait(10)


def _answered(host: str, port: int, began: float) -> float:
    while time.monotonic() - began < _DEADLINE:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/v1/health", headers={"Connection": "close"})
            if connection.getresponse().status == 200:
                return time.monotonic() - began
        except OSError:
            time.sleep(_STEP)
        finally:
            connection.close()
    raise TimeoutError(f"{host}:{port} did not answer")


def _docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True, timeout=_DEADLINE)
    return done.stdout.strip()
