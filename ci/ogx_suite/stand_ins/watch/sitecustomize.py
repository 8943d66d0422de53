"""Writes down every attempt of a Python process to look up a name or to reach an address beyond this machine.

OGX_SUITE_TALKS: so many bytes a server writes to its standard error when it starts.
"""

import os
import sys
from typing import Any

_PATH = os.environ.get("OGX_SUITE_SOCKETS", "")
_TALKS = int(os.environ.get("OGX_SUITE_TALKS", "0"))
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


def _is_server() -> bool:
    with open("/proc/self/cmdline", "rb") as file:  # noqa: PTH123 - at the start of every process, so nothing is loaded
        return b"\0stack\0run\0" in file.read()


if _PATH:
    sys.addaudithook(_watch)
if _TALKS and _is_server():
    # As a library's progress bars and warnings do: past the program's own log.
    sys.stderr.write(("." * 79 + "\n") * (_TALKS // 80))
    sys.stderr.flush()
