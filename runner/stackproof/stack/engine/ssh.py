"""An engine that is reached over ssh: each connection is the command `docker system dial-stdio` there.

So has Docker's own command line it, by the program `ssh`, with its configuration, agent, known hosts and jump hosts.
The SDK's ways are not taken: one needs paramiko, which reads little of that, the other knows no deadlines, and neither
can close one direction alone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from http.client import BadStatusLine, HTTPException, RemoteDisconnected
from typing import IO, Any
from urllib.parse import SplitResult, unquote, urlsplit

from docker.transport import UnixHTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from stackproof.stack import ssh_words
from stackproof.stack.engine_words import Reason, UnreachableError

_CONNECT = 25  # seconds for ssh to get there: less than the engine has for its first answer
_ALIVE = 10  # seconds of silence after which ssh asks whether the machine is still there, three times
_ENDING = 2.0  # seconds
_HEARD = 4000  # bytes of what ssh complained of


def command(url: str, environ: Mapping[str, str]) -> list[str]:
    """What talks to the engine at `ssh://[USER@]HOST[:PORT][/SOCKET]`; UnreachableError where that cannot be."""
    parts = _parts(url)
    program = shutil.which("ssh", path=environ.get("PATH", os.defpath))
    if program is None:
        raise UnreachableError(
            Reason(text="there is no program `ssh` here", remedy="install it (Debian's package is openssh-client)")
        )
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
        _host(parts),
        "docker",
        # What follows the host is put together again, and read by a shell there.
        *((shlex.quote(f"--host=unix://{unquote(parts.path)}"),) if parts.path.strip("/") else ()),
        "system",
        "dial-stdio",
    ]


def _parts(url: str) -> SplitResult:
    correct = "write ssh://USER@HOST or ssh://USER@HOST:PORT, as for `docker`"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UnreachableError(Reason(text=f"that is no address: {error}", remedy=correct)) from error
    if not parts.hostname:
        raise UnreachableError(Reason(text="it names no host", remedy=correct))
    if _host(parts).startswith("-") or unquote(parts.username or "").startswith("-"):
        # ssh has it behind `--`; whoever tries the command of a hint by hand has not.
        raise UnreachableError(Reason(text="no host or user begins with a dash", remedy=correct))
    if parts.password is not None:
        raise UnreachableError(Reason(text="an address with a password in it is not taken", remedy=correct))
    return parts


def _host(parts: SplitResult) -> str:
    """As it was written: to ssh's configuration, `Builder` is another `Host` than `builder`."""
    place = parts.netloc.rpartition("@")[2]
    return place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0]


class SshAdapter(UnixHTTPAdapter):
    """In the place of the SDK's adapter for a Unix socket: the same, with programs at the other end of the sockets."""

    def __init__(self, url: str, environ: Mapping[str, str], timeout: float) -> None:
        self._url, self._environ = url, environ
        self._command = command(url, environ)
        parts = urlsplit(url)
        port = f"-p {parts.port} " if parts.port else ""
        self._host = f"{port}{f'{parts.username}@' if parts.username else ''}{_host(parts)}"
        self._programs: list[_Program] = []
        self._lock = threading.Lock()
        super().__init__("http+unix:///over/ssh", int(timeout))

    def get_connection(self, url: Any, proxies: Any = None) -> HTTPConnectionPool:  # type: ignore[override]  # noqa: ARG002
        """The connections to the engine."""
        with self.pools.lock:
            pool: HTTPConnectionPool | None = self.pools.get(self._url)
            if pool is None:
                pool = self.pools[self._url] = _Pool(self)
        return pool

    def dial(self, timeout: float | None) -> _Program:
        """One more connection. timeout: seconds that a call may take."""
        with self._lock:
            self._programs = [item for item in self._programs if not item.has_ended()]
            made = _Program(self._command, self._environ, timeout, host=self._host)
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

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], timeout: float | None, *, host: str) -> None:
        self._host = host
        with ExitStack() as undo:
            self._said: IO[bytes] = undo.enter_context(tempfile.TemporaryFile())
            self.socket, theirs = socket.socketpair()
            undo.callback(self.socket.close)
            with theirs:
                self.socket.settimeout(timeout)
                self._process = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    # A file, no pipe: a master that is shared by configuration would keep a pipe open.
                    stderr=self._said,
                    env=dict(environ),
                    # A Ctrl-C on this terminal ends the run, which still has to take its containers away.
                    start_new_session=True,
                )
            undo.pop_all()

    def has_ended(self) -> bool:
        """Whether it has; nothing of it is left then."""
        if self._process.poll() is None:
            return False
        self._said.close()
        return True

    def end(self) -> None:
        """Have it end; `wait` sees to it."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._process.terminate()

    def wait(self) -> None:
        """Until it has ended."""
        try:
            self._process.wait(timeout=_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def complaint(self) -> UnreachableError | None:
        """Why there is no answer; None where it goes on."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_ENDING)
        code = self._process.poll()
        if code is None or self._said.closed:
            return None
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _HEARD))
        text, remedy = ssh_words.told(self._said.read().decode("utf-8", "replace"), code, self._host)
        return UnreachableError(Reason(text=text, remedy=remedy))


class _Connection(HTTPConnection):
    def __init__(self, adapter: SshAdapter, timeout: Any) -> None:
        super().__init__("localhost", timeout=timeout)
        self._adapter = adapter
        self._program: _Program | None = None

    def connect(self) -> None:
        self._program = self._adapter.dial(self.timeout if isinstance(self.timeout, (int, float)) else None)
        self.sock = self._program.socket

    def getresponse(self) -> Any:
        try:
            return super().getresponse()
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            if isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected):
                raise UnreachableError(
                    Reason(
                        text=f"what answers there is no engine: {error}",
                        remedy="a shell that writes something before a command is run has to leave that",
                    )
                ) from error
            why = None if self._program is None else self._program.complaint()
            if why is None:
                raise
            raise why from error


class _Pool(HTTPConnectionPool):
    def __init__(self, adapter: SshAdapter) -> None:
        super().__init__("localhost", timeout=adapter.timeout, maxsize=adapter.max_pool_size)
        self._adapter = adapter

    def _new_conn(self) -> _Connection:
        return _Connection(self._adapter, self.timeout.connect_timeout)
