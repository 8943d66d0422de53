"""Calls of the engine that reach into a container: files in and out, and commands beside its program."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any

from stackproof.stack.conversation import Conversation
from stackproof.stack.engine.calls import Calls
from stackproof.stack.engine.client import CALL

_STEP = 0.02  # seconds


class Inside(Calls):
    """Files and commands of containers that are there."""

    def put(self, container: str, folder: str, archive: bytes | IO[bytes]) -> None:
        """Unpack a tar archive in a folder of a container, which need not run."""
        with self._told(f"copying into container {container[:12]}"):
            self._client.put_archive(container, folder, archive)

    def get(self, container: str, path: str) -> Iterator[bytes] | None:
        """A file or folder of a container as a tar archive, in pieces; None where it is not there."""
        doing = f"copying out of container {container[:12]}"
        with self._told(doing):
            found = self._or_none(lambda: self._client.get_archive(container, path))

        def pieces() -> Iterator[bytes]:
            with self._told(doing):
                yield from found[0]

        return None if found is None else pieces()

    def run_inside(self, container: str, command: Sequence[str], *, given: bytes = b"", as_root: bool = False) -> int:
        """Run a command in a running container with `given` as its standard input; its exit code.

        as_root: not as the container's own user.

        The way for values that nobody else may see: they are in no argument, label, layer or environment of the engine.
        """
        with self._told(f"running {command[0]} in container {container[:12]}"):
            made = self._client.exec_create(
                container,
                list(command),
                stdin=True,
                stdout=True,
                stderr=True,
                user="0" if as_root else "",
            )
            stream = self._client.exec_start(made["Id"], socket=True)
            try:
                _feed(stream, given)
            finally:
                _close(stream)
            return self._ended(made["Id"])

    def _ended(self, command: str) -> int:
        """The exit code of a command, once it has one: with TLS, the end of its output cannot always be waited for."""
        deadline = time.monotonic() + CALL
        while (found := self._client.exec_inspect(command))["Running"]:
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(_STEP)
        return int(found["ExitCode"] or 0)

    def converse(self, container: str, command: Sequence[str], *, silent: float) -> Conversation:
        """Run a command in a running container, as its user, to talk with. silent: seconds that it may say nothing."""
        raw, whole = self.wired(container, command)
        return Conversation(raw, timeout=silent, whole=whole)

    def wired(self, container: str, command: Sequence[str]) -> tuple[Any, Any]:
        """Run a command in a running container, as its user: the socket of its input and output, plain or with TLS.

        Output is in the engine's frames, see `conversation`. Second comes what lives with the socket, and is closed
        after it.
        """
        with self._told(f"running {command[0]} in container {container[:12]}"):
            made = self._client.exec_create(container, list(command), stdin=True, stdout=True, stderr=True)
            stream = self._client.exec_start(made["Id"], socket=True)
        return getattr(stream, "_sock", stream), _whole(stream)


def _whole(stream: Any) -> Any:
    """What has to be closed beside the socket: the SDK leaves the answer that it came with open where it has TLS."""
    return stream._response if isinstance(stream, ssl.SSLSocket) else stream  # type: ignore[attr-defined]  # noqa: SLF001


def _close(stream: Any) -> None:
    for item in (stream, _whole(stream)):
        item.close()


def _feed(stream: Any, given: bytes) -> None:
    """Write to a command's standard input, close it, and wait until the command has closed its output."""
    raw = getattr(stream, "_sock", stream)
    with contextlib.closing(raw):
        raw.settimeout(CALL)
        raw.sendall(given)
        _said_all(raw)
        with contextlib.suppress(ssl.SSLError):  # its words for an end, once this side has said its own
            while raw.recv(65536):
                pass


def _said_all(raw: Any) -> None:
    """Close what goes to the engine, and go on reading."""
    if not isinstance(raw, ssl.SSLSocket):
        raw.shutdown(socket.SHUT_WR)
        return
    # The end has to be said in TLS, or the command goes on waiting for more. `unwrap` says it, and would then wait for
    # the other side to say so too, and for nothing else: it fails where there is output already.
    raw.setblocking(False)
    deadline = time.monotonic() + CALL
    with contextlib.suppress(ssl.SSLError):
        while _is_full(raw):
            if time.monotonic() > deadline:
                raise TimeoutError
            select.select([], [raw], [], 1.0)
    raw.settimeout(CALL)


def _is_full(raw: ssl.SSLSocket) -> bool:
    """Say the end; whether there was no room for it yet, behind all that was written before."""
    try:
        raw.unwrap()
    except ssl.SSLWantWriteError:
        return True
    return False
