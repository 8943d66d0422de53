"""Why the Docker engine did not do what it was asked, in a few words, and what a person can do about it."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from pathlib import Path
from typing import Any

from stackproof.stack import tls_words
from stackproof.stack.endpoint import Endpoint, masked

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
_RIGHT = "is that the engine's address? its own log may say more"
# The first that fits; one of these is another's kind too.
_HTTP = {
    RemoteDisconnected: "it closed the connection and answered nothing",
    IncompleteRead: "the connection broke off",
    HTTPException: "what answers there speaks no HTTP",
}
_JOIN = "join the group that owns the socket (`usermod -aG docker NAME`, then log in anew), or use a rootless engine"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """What went wrong, and what to do next."""

    text: str
    remedy: str


class UnreachableError(Exception):
    """The way to an engine cannot be gone; whoever knows why raises it from below the SDK."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


def hint(remedy: str, without: str | None) -> str:
    """What to do next, and on a line of its own the command that does the same without Docker."""
    return remedy if without is None else f"{remedy}\nwithout Docker: {without}"


def refused(text: str) -> Reason:
    """The reason that the engine itself gave; what is known of it to be easily mended is said."""
    if tls_words.PLAIN_TO_TLS in text:
        return Reason(text="it speaks TLS, and was called without", remedy="set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH")
    found = next((remedy for part, remedy in _KNOWN.items() if part in text), ENGINE_LOG)
    return Reason(text=text, remedy=found)


def reason_of(error: BaseException, where: Endpoint, *, hangs: bool = False) -> Reason:
    """The reason behind an error of the SDK or of the HTTP library below it; `hangs`: a call ran out of time."""
    system = _system_error(error)
    if system is not None:
        return _of_system(system, where)
    for kind, text in _HTTP.items():
        if any(isinstance(item, kind) for item in _all(error)):
            return Reason(text=text, remedy=_RIGHT)
    if hangs:
        return Reason(text="it took the connection and answered nothing in time", remedy="restart the engine: it hangs")
    # The SDK's own words may have the address in them.
    return Reason(text=masked(" ".join(str(error).split())), remedy=START)


def _of_system(error: OSError, where: Endpoint) -> Reason:
    if isinstance(error, ssl.SSLError):
        text, remedy = tls_words.told(error, where.tls or Path())
        return Reason(text=text, remedy=remedy)
    if isinstance(error, TimeoutError):
        slow = f"is {masked(where.url)} the right place? it may hang, or be out of reach"
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
    # requests' own errors are OSErrors too, without a number.
    return next(
        (item for item in _all(error) if isinstance(item, OSError) and (item.errno is not None or _is_timeout(item))),
        None,
    )


def _is_timeout(error: OSError) -> bool:
    return type(error) is TimeoutError


def _all(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was made of."""
    seen: set[int] = set()
    todo: list[Any] = [error]
    while todo:
        found = todo.pop(0)
        if isinstance(found, BaseException) and id(found) not in seen:
            seen.add(id(found))
            yield found
            todo += [found.__cause__, found.__context__, getattr(found, "reason", None), *found.args]
