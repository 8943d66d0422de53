"""The bridge that engines share, and all of them together: up, down, and found again by the folder they belong to."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.swarm_engines.commands import BedError, ask, attempted, run
from ci.swarm_engines.node import Node, discard

NEEDS = ("ip", "iptables", "nsenter", "unshare", "setsid", "mount", "dockerd", "docker")
SIZE = "4g"
_MOST = 64
_READY = 120.0  # seconds until the manager has to see all of them
_LOADS = 300.0  # seconds that all engines may take for an image
_LONGEST = 107  # bytes that the path of a socket may have
_HEARTBEAT = 3_000_000_000  # ns; the manager misses a node after three


def missing() -> str:
    """What this machine lacks for it, or nothing."""
    if os.geteuid() != 0:
        return "root"
    return next((name for name in NEEDS if shutil.which(name) is None), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bed:
    """Engines of one folder. name: of the bridge; nobody else on this machine has it, nor the network."""

    folder: Path
    name: str

    @property
    def network(self) -> str:
        """The first three numbers of its addresses, from those that are set aside for trials (RFC 2544)."""
        return f"198.18.{self.name.removeprefix('spsw')}"

    def node(self, number: int) -> Node:
        """One engine, from 1."""
        return Node(folder=self.folder, number=number, bed=self.name, network=self.network)

    def nodes(self) -> list[Node]:
        """All that are there, or of which something is."""
        found = {int(path.name.removeprefix("engine-")) for path in self.folder.glob("engine-*")}
        found |= {int(name.rpartition("-")[2]) for name in self.spaces()}
        return [self.node(number) for number in sorted(found)]

    def spaces(self) -> list[str]:
        """The network namespaces that are called after its bridge."""
        names = (line.split()[0] for line in run("ip", "netns", "list").splitlines() if line)
        return [name for name in names if name.startswith(f"{self.name}-")]

    @property
    def rule(self) -> tuple[str, ...]:
        """Lets what stays on the bridge pass, where an engine of this machine has closed it for everybody."""
        return ("FORWARD", "-i", self.name, "-o", self.name, "-j", "ACCEPT")


def up(folder: Path, count: int, images: Sequence[str], size: str) -> Bed:
    """Engines that form a swarm, the first one its manager; nothing of them is left where it fails."""
    lacking = missing()
    if lacking:
        raise BedError(f"a swarm on one machine needs {lacking}")
    if found(folder) is not None or list(folder.glob("engine-*")):
        raise BedError(f"{folder} has engines already: `down` takes them away")
    longest = len(str(Bed(folder=folder, name="spsw0").node(count).socket))
    if longest > _LONGEST:
        raise BedError(f"{folder} is too long a path by {longest - _LONGEST} for the sockets of engines")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        bed = _bridge(folder)
        nodes = [bed.node(number) for number in range(1, count + 1)]
        for node in nodes:
            node.prepare(size)
            node.start()
        for node in nodes:
            node.wait()
        _join(nodes)
        for image in images:
            load(image, nodes)
    except BaseException:
        down(folder)
        raise
    return bed


def found(folder: Path) -> Bed | None:
    """The engines of a folder. The bridge itself says whose it is, whatever became of the folder."""
    for item in json.loads(run("ip", "-json", "link", "show", "type", "bridge") or "[]"):
        if item["address"] == _mark(folder) and str(item["ifname"]).startswith("spsw"):
            return Bed(folder=folder, name=str(item["ifname"]))
    return None


def down(folder: Path) -> None:
    """Leave nothing of the engines of a folder, nor the folder where nothing else is in it."""
    bed = found(folder)
    if bed is None:
        # Whoever ended before the bridge was there, or after it was gone, may have left disks.
        for path in folder.glob("engine-*"):
            discard(path)
    else:
        for node in bed.nodes():
            node.remove()
        while attempted("iptables", "--wait", "--delete", *bed.rule):
            pass
        run("ip", "link", "delete", bed.name)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def load(image: str, nodes: Sequence[Node]) -> None:
    """Give engines an image of this machine's own."""
    with tempfile.TemporaryDirectory() as scratch:
        saved = f"{scratch}/image.tar"
        run("docker", "save", "--output", saved, image)
        loads = [
            subprocess.Popen(
                ("docker", "--host", f"unix://{node.socket}", "load", "--quiet", "--input", saved),
                stdout=subprocess.DEVNULL,
            )
            for node in nodes
        ]
        try:
            codes = [process.wait(timeout=_LOADS) for process in loads]
        except subprocess.TimeoutExpired as error:
            raise BedError(f"image {image} was not handed over within {_LOADS:.0f} s") from error
        finally:
            for process in loads:
                process.kill()
    if any(codes):
        raise BedError(f"image {image} could not be handed over")


def _mark(folder: Path) -> str:
    """A hardware address: the one thing that a link has from the moment of its making on, beside its name."""
    digest = hashlib.sha256(str(folder).encode()).hexdigest()
    return ":".join(("02", *(digest[start : start + 2] for start in range(0, 10, 2))))


def _bridge(folder: Path) -> Bed:
    """The first that nobody has: the kernel gives a name to one only."""
    for number in range(_MOST):
        bed = Bed(folder=folder, name=f"spsw{number}")
        # Their names are this machine's, and a bridge that is of one network namespace may have gone, or be in another.
        if not bed.spaces() and attempted(
            "ip", "link", "add", "name", bed.name, "address", _mark(folder), "type", "bridge"
        ):
            run("ip", "address", "add", f"{bed.network}.1/24", "dev", bed.name)
            run("ip", "link", "set", bed.name, "up")
            run("iptables", "--wait", "--insert", *bed.rule)
            return bed
    raise BedError(f"there are {_MOST} swarms on this machine already")


def _join(nodes: Sequence[Node]) -> None:
    first, *others = nodes
    spec = {"Dispatcher": {"HeartbeatPeriod": _HEARTBEAT}}
    known = {"ListenAddr": "0.0.0.0:2377", "AdvertiseAddr": first.address}
    ask(first.socket, "POST", "/swarm/init", {**known, "Spec": spec})
    token = ask(first.socket, "GET", "/swarm")["JoinTokens"]["Worker"]
    for node in others:
        where = {**known, "AdvertiseAddr": node.address, "RemoteAddrs": [f"{first.address}:2377"]}
        ask(node.socket, "POST", "/swarm/join", {**where, "JoinToken": token})
    deadline = time.monotonic() + _READY
    while [item["Status"]["State"] for item in ask(first.socket, "GET", "/nodes")] != ["ready"] * len(nodes):
        if time.monotonic() > deadline:
            raise BedError(f"the engines were no swarm of {len(nodes)} within {_READY:.0f} s")
        time.sleep(0.05)
