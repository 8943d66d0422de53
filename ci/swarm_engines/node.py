"""One engine: its namespaces, its link to the others, its disk; how it is killed, cut off and filled up."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ci.swarm_engines.commands import BedError, ask, attempted, run

_ANSWERS = 180.0  # seconds until an engine has to answer
_BEGINS = 30.0  # seconds until it has to run
_DATA = "data"
_GONE = 60.0  # seconds until what was killed has to be gone

# The first process of the engine's machine: it buries what others leave behind, which dockerd does not. What /sys shows
# of networks is that of whoever mounts it.
_INSIDE = """
set -e
hostname "$1"
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/groups
mount --rbind /sys/fs/cgroup /run/groups
mount -t sysfs sysfs /sys
mount --move /run/groups /sys/fs/cgroup
shift
"$@" &
wait $!
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """An engine, `number` from 1. bed: the name of its bridge, which all other names begin with. network: its /24."""

    folder: Path
    number: int
    bed: str
    network: str

    @property
    def name(self) -> str:
        """Of the machine, as the swarm lists it."""
        return f"engine-{self.number}"

    @property
    def home(self) -> Path:
        """Everything of it that lies on the real disk."""
        return self.folder / self.name

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.home / "docker.sock"

    @property
    def data(self) -> Path:
        """Its disk: a file system in memory."""
        return self.home / _DATA

    @property
    def space(self) -> str:
        """Its network namespace, its link outside and its group of processes are all called so."""
        return f"{self.bed}-{self.number}"

    @property
    def address(self) -> str:
        """By which the others know it."""
        return f"{self.network}.{10 + self.number}"

    def prepare(self, size: str) -> None:
        """Make its disk. size: as tmpfs takes it."""
        self.data.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(self.data))
        settings = {"insecure-registries": [f"{self.network}.0/24"]}
        (self.home / "daemon.json").write_text(json.dumps(settings), encoding="utf-8")

    def start(self) -> None:
        """Switch its machine on; `wait` says when it answers."""
        self.socket.unlink(missing_ok=True)
        run("ip", "netns", "add", self.space)
        # Others remember it by its hardware address for a while, also when it comes back.
        mine, address = f"{self.space}e", f"02:73:77:00:{self.number:02x}:01"
        run("ip", "link", "add", self.space, "type", "veth", "peer", "name", mine)
        run("ip", "link", "set", mine, "netns", self.space)
        run("ip", "link", "set", self.space, "master", self.bed, "up")
        inside = ("ip", "-netns", self.space)
        run(*inside, "link", "set", mine, "name", "eth0", "address", address)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "address", "add", f"{self.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "route", "add", "default", "via", f"{self.network}.1")
        own = ("--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child")
        apart = ("nsenter", f"--net=/run/netns/{self.space}", "unshare", *own)
        engine = (
            "dockerd",
            *("--data-root", str(self.data), "--exec-root", "/run/docker", "--pidfile", "/run/docker.pid"),
            *("--config-file", str(self.home / "daemon.json"), "--cgroup-parent", f"/{self.space}"),
            *("--host", f"unix://{self.socket}"),
        )
        with (self.home / "log").open("ab") as log:
            # Nobody's child: whoever starts it need not stay.
            subprocess.run(
                ("setsid", "--fork", *apart, "bash", "-c", _INSIDE, "bash", self.name, *engine),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=True,
            )

    def wait(self) -> None:
        """Until it answers; BedError with the end of its log where it does not."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(OSError):
                ask(self.socket, "GET", "/_ping")
                return
            waited = time.monotonic() - began
            if waited > _ANSWERS or (waited > _BEGINS and not self._processes()):
                log = (self.home / "log").read_text(encoding="utf-8", errors="replace").splitlines()
                raise BedError(f"{self.name} did not come up: {' / '.join(log[-3:])}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Switch its machine off, with everything that runs on it: nobody is told. Its disk stays."""
        # The link first: no program of it says goodbye.
        attempted("ip", "link", "set", self.space, "down")
        deadline = time.monotonic() + _GONE
        while found := self._processes():
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise BedError(f"processes {found} of {self.name} do not end")
            time.sleep(0.02)
        attempted("ip", "link", "delete", self.space)
        if Path("/run/netns", self.space).exists():
            run("ip", "netns", "delete", self.space)
        self._ungroup(deadline)

    def cut(self) -> None:
        """Pull its network cable."""
        run("ip", "link", "set", self.space, "down")

    def heal(self) -> None:
        """Put its network cable back."""
        run("ip", "link", "set", self.space, "up")

    def fill(self) -> None:
        """Leave no room on its disk."""
        found = os.statvfs(self.data)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        self._resize(f"{max(used, found.f_frsize) // 1024}k")

    def free(self, size: str) -> None:
        """Give its disk room again."""
        self._resize(size)

    def remove(self) -> None:
        """Leave nothing of it, however far it came."""
        self.kill()
        discard(self.home)

    def _resize(self, size: str) -> None:
        run("mount", "-o", f"remount,size={size}", str(self.data))

    def _processes(self) -> list[int]:
        """Those in its network: dockerd and what holds its process namespace, so all others end with them."""
        if not Path("/run/netns", self.space).exists():
            return []
        return [int(pid) for pid in run("ip", "netns", "pids", self.space).split()]

    def _ungroup(self, deadline: float) -> None:
        root = Path("/sys/fs/cgroup")
        for top in (*root.glob(self.space), *root.glob(f"*/{self.space}")):
            for folder in (*sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True), top):
                _emptied(folder, deadline)


def discard(home: Path) -> None:
    """Remove what an engine has on the real disk, its own disk with it."""
    while os.path.ismount(home / _DATA):
        run("umount", str(home / _DATA))
    shutil.rmtree(home, ignore_errors=True)


def _emptied(group: Path, deadline: float) -> None:
    """Remove a control group, once the last of its processes has gone."""
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise BedError(f"{group} still has processes") from None
            time.sleep(0.02)
        else:
            return
