"""Writes down every attempt of a Python process to look up a name or to reach an address beyond this machine."""

import os
import sys
from typing import Any

_PATH = os.environ.get("OGX_SUITE_SOCKETS", "")
_HERE = ("localhost", "127.", "::1", "0.0.0.0", "::ffff:127.")  # noqa: S104 - a name to compare with, and where OGX looks for Ollama


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not host or host.startswith(_HERE):
        return
    handle = os.open(_PATH, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(handle, f"{os.getpid()} {event} {host}\n".encode())
    os.close(handle)


if _PATH:
    sys.addaudithook(_watch)
