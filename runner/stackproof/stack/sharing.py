"""What an engine's containers share with this machine: its folders, and addresses that can be reached from here."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from stackproof.errors import UsageError
from stackproof.stack import ports
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine_records import EngineFacts

VARIABLE = "STACKPROOF_DOCKER_SHARING"
"""`copy`: as with an engine that shares nothing, for trying what such a one does; `mount`: it shares folders."""

EVERYWHERE = "0.0.0.0"  # noqa: S104 - of a machine that is not this one
_HERE = ("localhost", "127.0.0.1", "::1")
_CONNECT = 2.0  # seconds
_ROUTES = Path("/proc/net/route")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharing:
    """What is shared: True, False, or None where only a try can tell. why: where that is known from, for a person.

    proof: folders count as shared only once a container was seen to hold a file of this run. machine: where a port that
    the engine publishes is reached from here. publish_at: the address of the engine's machine that it is published at.
    through: what leads into a container goes through the engine's own connection, and needs no such port.
    """

    folders: bool | None
    addresses: bool | None
    why: str
    proof: bool = True
    machine: str = ports.LOOPBACK
    publish_at: str = ports.LOOPBACK
    through: bool = False

    @property
    def elsewhere(self) -> bool:
        """Whether the engine is on another machine for certain."""
        return self.publish_at != ports.LOOPBACK


def decide(where: Endpoint, facts: EngineFacts, environment: Mapping[str, str], *, host: str) -> Sharing:
    """What the engine's address, and what it says of itself, tell; host: the name of this machine.

    UsageError for a value of STACKPROOF_DOCKER_SHARING that is neither.
    """
    asked = environment.get(VARIABLE, "").strip()
    machine = _machine(where)
    # A tunnel leads to the engine and nowhere else; of another machine, a firewall may leave no other port open.
    through = where.socket is None
    found = Sharing(folders=None, addresses=None, why="tried", proof=facts.name != host, through=through)
    if machine not in _HERE:
        found = Sharing(
            folders=False,
            addresses=False,
            why=f"it is on {machine}",
            machine=machine,
            publish_at=EVERYWHERE,
            through=through,
        )
    match asked:
        case "":
            # A socket, or a port of this machine, may lead elsewhere: a tunnel, a virtual machine, another container.
            # A folder of this run has a name that no other machine has; where machines' names agree, a mount proves it.
            return found
        case "copy":
            return replace(found, folders=False, addresses=False, why=f"{VARIABLE}=copy")
        case "mount":
            return replace(found, folders=True, proof=True, why=f"{VARIABLE}=mount")
        case _:
            raise UsageError(
                f"{VARIABLE}: {asked!r} is neither copy nor mount", hint=f"set it to one of them, or unset {VARIABLE}"
            )


def unknown(shared: Sharing) -> str:
    """Why nobody here can call a port that the engine's machine has published; empty where somebody may."""
    try:
        socket.getaddrinfo(shared.machine, None)
    except OSError:
        return f"{shared.machine} is a name that only ssh knows"
    return ""


def reachable(address: str, port: int) -> bool:
    """Whether a container's address can be reached from here: that nobody listens at the port yet is an answer too."""
    if _ROUTES.is_file() and not attached(address, _ROUTES.read_text(encoding="ascii")):
        return False
    try:
        with socket.create_connection((address, port), timeout=_CONNECT):
            return True
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def attached(address: str, routes: str) -> bool:
    """Whether an IPv4 address is in a network that this machine is itself in; routes: text of /proc/net/route.

    Anybody may answer for one that lies behind a gateway: some answer for every address that there is.
    """
    wanted = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    found: list[tuple[int, int]] = []
    for row in routes.splitlines()[1:]:
        fields = row.split()
        network, gateway, mask = (int(fields[column], 16) for column in (1, 2, 7))
        if wanted & mask == network:
            found.append((mask.bit_count(), gateway))
    return bool(found) and max(found)[1] == 0


def _machine(where: Endpoint) -> str:
    if where.socket is not None:
        return ports.LOOPBACK
    return urlsplit(where.url).hostname or ports.LOOPBACK
