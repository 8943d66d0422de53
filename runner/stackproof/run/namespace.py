"""A network of one's own, with nothing but loopback in it: the kernel's proof that a replay called nobody.

A cell's process is started as `unshare … -- python -m stackproof.run.namespace UID GID -- COMMAND`. Inside, loopback is
brought up, the caller's own user and group ids are put back (unshare had to make it root), and the command takes over
the process, so that its process id is the one that was started.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import NotProvenError

_PROBE_TIMEOUT = 10.0
_RELAY = "--relay"
_CLONE_NEWUSER = 0x10000000
# ioctl numbers and flags of netdevice(7).
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 0x1


@dataclass(frozen=True, kw_only=True, slots=True)
class Seal:
    """How a cell is shut off: `prefix` goes in front of its command; `reason` says why it is not sealed."""

    sealed: bool
    prefix: tuple[str, ...] = ()
    reason: str = ""


def decide(seal: str, *, replay: bool, environment: Mapping[str, str]) -> Seal:
    """What `--seal` (auto, never, require) means here.

    Only a replay is sealed: every other mode has to reach its provider. NotProvenError when it is required and this
    machine does not permit it.
    """
    if seal == "never" or not replay:
        return Seal(sealed=False, reason="--seal never" if seal == "never" else "providers are called")
    found = available(environment)
    if seal == "require" and not found.sealed:
        raise NotProvenError(
            f"no network namespace can be made here: {found.reason}",
            hint="allow user namespaces (sysctl kernel.unprivileged_userns_clone, or the container's seccomp profile),"
            " or run with --seal auto: then only the recorder's own tripwire stands",
        )
    return found


def available(environment: Mapping[str, str], *, timeout: float = _PROBE_TIMEOUT) -> Seal:
    """Whether a command can be given a network namespace here, found out by doing it once.

    timeout: seconds for each of the ways to make one.
    """
    if sys.platform != "linux":
        return Seal(sealed=False, reason="network namespaces are a thing of Linux")
    if isolated():
        # A cell inside a sealed cell, or a container without network: there is nothing left to shut.
        return Seal(sealed=True)
    inside = (
        sys.executable,
        "-P",
        "-m",
        "stackproof.run.namespace",
        str(os.getuid()),
        str(os.getgid()),
        "--",
    )
    reason = ""
    for options in _ways():
        prefix = ("unshare", *options, "--", *inside)
        probe = (*prefix, sys.executable, "-I", "-c", _TRY_LOOPBACK)
        try:
            done = subprocess.run(
                probe,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except FileNotFoundError:
            return Seal(sealed=False, reason="there is no `unshare` program (util-linux)")
        except subprocess.TimeoutExpired:
            reason = f"`unshare` did not return within {timeout:g} s"
            continue
        if done.returncode == 0 and done.stdout.strip() == b"alone":
            return Seal(sealed=True, prefix=prefix)
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"`unshare` exited with code {done.returncode}"
    return Seal(sealed=False, reason=reason)


def _ways() -> tuple[tuple[str, ...], ...]:
    # Root keeps its rights over everybody's files only if it stays in its user namespace.
    by_map = ("--map-root-user", "--net")
    return (("--net",), by_map) if os.geteuid() == 0 else (by_map,)


# Exits with "alone" when two ends talk over loopback and nothing else is there to talk to.
_TRY_LOOPBACK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), timeout=2)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside:
    try:
        outside.connect(("192.0.2.1", 9))
    except OSError:
        print("alone")
"""


def isolated() -> bool:
    """Whether this process is in a network where nothing but loopback is up."""
    if sys.platform != "linux":
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for _, name in socket.if_nameindex():
            if name == "lo":
                continue
            with suppress(OSError):
                if _flags(control, name) & _IFF_UP:
                    return False
        # Loopback itself has to work, or nothing could be tested here.
        with suppress(OSError):
            return bool(_flags(control, "lo") & _IFF_UP)
    return False


def bring_up_loopback() -> None:
    """Switch the interface `lo` on, as `ip link set lo up` does; OSError without the right to do so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = _flags(control, "lo") | _IFF_UP
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def _flags(control: socket.socket, name: str) -> int:
    # struct ifreq: a name of 16 bytes, then a union whose first two bytes are the flags.
    request = array.array("B", struct.pack("16sh14x", name.encode(), 0))
    fcntl.ioctl(control, _SIOCGIFFLAGS, request)
    return int(struct.unpack_from("16xh", request)[0])


def become(uid: int, gid: int) -> None:
    """Take on `uid` and `gid` again, by one more user namespace; nothing happens when they are in force already.

    Tests about permissions, and programs that refuse to run as root, see what they would see outside.
    """
    if (os.getuid(), os.getgid()) == (uid, gid):
        return
    here = (os.getuid(), os.getgid())
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        return  # it stays root in here: less faithful, and still sealed
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{uid} {here[0]} 1")
    (own / "gid_map").write_text(f"{gid} {here[1]} 1")


def with_relay(seal: Seal, listen: str, target: str) -> tuple[str, ...]:
    """The prefix of `seal` for a command that reaches one place outside: what connects to `listen` (`host:port`) in
    there is handed on to `target`, the path of a Unix socket, which does not know of networks.
    """
    return (*seal.prefix[:-1], _RELAY, listen, target, seal.prefix[-1])


def main(arguments: list[str]) -> int:
    """Bring loopback up and become the command behind `--`; returns only when that was impossible."""
    options, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    try:
        bring_up_loopback()
        become(int(options[0]), int(options[1]))
        if options[2:3] == [_RELAY]:
            from stackproof.run import relay  # noqa: PLC0415 - most commands need none

            relay.start(options[3], options[4])
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"the network namespace could not be set up: {error}\n")
    return 126


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
