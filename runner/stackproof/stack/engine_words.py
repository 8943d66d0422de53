"""Why the Docker engine did not do what it was asked, in a few words, and what a person can do about it."""

from __future__ import annotations

import os
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from stackproof.stack.endpoint import Endpoint

ENGINE_LOG = "the engine's own log says more (`journalctl -u docker`)"
START = (
    "start the engine (`systemctl start docker`, Docker Desktop), "
    "or name another with DOCKER_HOST or `docker context use`"
)
# What Podman says of a machine on which it was installed with nothing that it recommends.
_KNOWN = {
    "container-init binary not found": "install the program that Podman starts containers by (`catatonit`)",
    "error setting rlimit": "have Podman ask for no more than it is given: `default_ulimits` in containers.conf",
    "could not find slirp4netns": "install what Podman makes networks with for an ordinary user (`slirp4netns`)",
    "newuidmap": "install what maps user ids (`uidmap`), and give the user a range in /etc/subuid and /etc/subgid",
}
_JOIN = "join the group that owns the socket (`usermod -aG docker NAME`, then log in anew), or use a rootless engine"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """What went wrong, and what to do next."""

    text: str
    remedy: str


def hint(remedy: str, without: str | None) -> str:
    """What to do next, and on a line of its own the command that does the same without Docker."""
    return remedy if without is None else f"{remedy}\nwithout Docker: {without}"


def refused(text: str) -> Reason:
    """The reason that the engine itself gave; what is known of it to be easily mended is said."""
    found = next((remedy for part, remedy in _KNOWN.items() if part in text), ENGINE_LOG)
    return Reason(text=text, remedy=found)


def reason_of(error: BaseException, where: Endpoint, *, hangs: bool = False) -> Reason:
    """The reason behind an error of the SDK or of the HTTP library below it; `hangs`: a call ran out of time."""
    system = _system_error(error)
    if system is not None:
        return _of_system(system, where)
    if hangs:
        return Reason(text="it took the connection and answered nothing in time", remedy="restart the engine: it hangs")
    return Reason(text=" ".join(str(error).split()), remedy=START)


def _of_system(error: OSError, where: Endpoint) -> Reason:
    if isinstance(error, ssl.SSLError):
        why = f"its certificate was refused: {error.reason or error}"
        return Reason(text=why, remedy="check DOCKER_CERT_PATH and DOCKER_TLS_VERIFY")
    if isinstance(error, TimeoutError):
        slow = f"is {where.url} the right place? it may hang, or be out of reach"
        return Reason(text="it answered nothing in time", remedy=slow)
    known = {
        FileNotFoundError: ("there is no such socket", START),
        PermissionError: (f"user {os.getuid()} may not use it", _JOIN),
        ConnectionRefusedError: ("nothing listens there", START),
        socket.gaierror: ("its host name is not known", "correct DOCKER_HOST or the context"),
    }
    plain = (error.strerror or str(error) or type(error).__name__).lower()
    text, remedy = known.get(type(error), (plain, START))
    return Reason(text=text, remedy=remedy)


def _system_error(error: BaseException) -> OSError | None:
    """The operating system's own error, somewhere below what requests and urllib3 have wrapped around it."""
    seen: set[int] = set()
    todo: list[Any] = [error]
    while todo:
        found = todo.pop(0)
        if not isinstance(found, BaseException) or id(found) in seen:
            continue
        seen.add(id(found))
        # requests' own errors are OSErrors too, without a number.
        if isinstance(found, OSError) and (found.errno is not None or type(found) is TimeoutError):
            return found
        todo += [found.__cause__, found.__context__, getattr(found, "reason", None), *found.args]
    return None
