"""Programs of the machine that are run for their effect, and an engine's API over its socket."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

_PROGRAM = 180.0  # seconds
_ANSWER = 120.0  # seconds


class BedError(Exception):
    """What could not be done, in one sentence."""


def run(*command: str) -> str:
    """Its output; BedError where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROGRAM, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BedError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise BedError(f"`{' '.join(command)}` failed: {' '.join(done.stderr.split())}")
    return done.stdout


def attempted(*command: str) -> bool:
    """Whether it went well; for what may be gone already."""
    try:
        run(*command)
    except BedError:
        return False
    return True


def ask(path: Path, method: str, target: str, body: object = None) -> Any:
    """One call of an engine's API; OSError where it does not answer, BedError where it refuses."""
    connection = _Connection(path)
    try:
        connection.request(
            method, target, None if body is None else json.dumps(body), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        content = answer.read()
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()
    if answer.status >= 300:
        raise BedError(f"the engine at {path} refused {target}: {content.decode(errors='replace').strip()}")
    return json.loads(content) if content.startswith((b"{", b"[", b'"')) else None


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_ANSWER)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_ANSWER)
        self.sock.connect(str(self._path))
