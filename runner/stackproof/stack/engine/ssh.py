"""An engine that is reached over ssh: each connection is the command `docker system dial-stdio` there.

So has Docker's own command line it, by the program `ssh`, with its configuration, agent, known hosts and jump hosts. The
SDK's two ways are not taken: one needs paramiko, which reads little of that, and the other has no deadlines.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from docker.transport import UnixHTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from stackproof.stack.engine_words import UnreachableError
from stackproof.stack.ssh_words import reason_of_ssh

_CONNECT = 8  # seconds for ssh to get to the machine; less than the first answer of an engine may take
_ALIVE = 10  # seconds of silence after which ssh asks whether the machine is still there; three times
_ENDING = 2.0  # seconds
_HEARD = 4000  # bytes of what ssh complained of


def command(url: str, environ: Mapping[str, str]) -> list[str]:
    """The command that talks to the engine at `ssh://[USER@]HOST[:PORT][/SOCKET]`."""
    parts = urlsplit(url)
    if not parts.hostname:
        raise UnreachableError("it names no host", remedy="write ssh://USER@HOST, as for `docker`")
    if parts.password is not None:
        raise UnreachableError("it has a password in it", remedy="use a key; ssh takes no password here")
    program = shutil.which("ssh", path=environ.get("PATH", os.defpath))
    if program is None:
        raise UnreachableError("there is no program `ssh` here", remedy="install it (package openssh-client)")
    return [
        program,
        # Nobody sits here who could be asked for a password, or whether a host is the right one.
        *("-o", "BatchMode=yes"),
        *("-o", f"ConnectTimeout={_CONNECT}"),
        *("-o", f"ServerAliveInterval={_ALIVE}"),
        *("-T", "-a", "-x"),
        *(("-l", unquote(parts.username)) if parts.username else ()),
        *(("-p", str(parts.port)) if parts.port else ()),
        "--",
        parts.hostname,
        "docker",
        *((f"--host=unix://{parts.path}",) if parts.path.strip("/") else ()),
        "system",
        "dial-stdio",
    ]


class SshAdapter(UnixHTTPAdapter):
    """In the place of the SDK's adapter for a Unix socket: the same, with programs for sockets."""

    def __init__(self, url: str, environ: Mapping[str, str], timeout: float) -> None:
        self._command, self._environ = command(url, environ), environ
        self._programs: list[_Program] = []
        self._lock = threading.Lock()
        super().__init__("http+unix:///over/ssh", timeout)

    def get_connection(self, url: Any, proxies: Any = None) -> HTTPConnectionPool:
        """The connections to the engine; `url` is that of a call."""
        with self.pools.lock:
            pool = self.pools.get(url)
            if pool is None:
                pool = self.pools[url] = _Pool(self)
        return pool

    def dial(self, timeout: float | None) -> _Program:
        """One more connection."""
        with self._lock:
            self._programs = [item for item in self._programs if not item.has_ended()]
            made = _Program(self._command, self._environ, timeout)
            self._programs.append(made)
        return made

    def close(self) -> None:
        """End all of them."""
        super().close()
        with self._lock:
            programs, self._programs = self._programs, []
        for program in programs:
            program.end()
        for program in programs:
            program.wait()


class _Program:
    """One ssh, and this side's end of what it reads and writes."""

    def __init__(self, command: list[str], environ: Mapping[str, str], timeout: float | None) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the program
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.socket.settimeout(timeout)
            self._process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=theirs,
                stderr=self._said,
                env=dict(environ),
                # A Ctrl-C on this terminal ends the run, which still has to take its containers away.
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        if self._process.poll() is None:
            return False
        self._said.close()
        return True

    def end(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._process.terminate()

    def wait(self) -> None:
        try:
            self._process.wait(timeout=_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def complaint(self) -> UnreachableError | None:
        """Why there is no answer; None where ssh does not say so."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_ENDING)
        code = self._process.poll()
        if code is None:
            return None
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _HEARD))
        reason = reason_of_ssh(self._said.read().decode("utf-8", "replace"), code)
        return UnreachableError(reason.text, remedy=reason.remedy)


class _Connection(HTTPConnection):
    def __init__(self, adapter: SshAdapter, timeout: Any) -> None:
        super().__init__("localhost", timeout=timeout)
        self._adapter = adapter
        self._program: _Program | None = None

    def connect(self) -> None:
        seconds = self.timeout if isinstance(self.timeout, (int, float)) else None
        self._program = self._adapter.dial(seconds)
        self.sock = self._program.socket

    def getresponse(self) -> Any:
        began = time.monotonic()
        try:
            return super().getresponse()
        except (OSError, ValueError) as error:
            raise
