"""A way into a container through the engine's own connection: no port is published, no other way there is needed.

A program in the container (`through_inside`) is talked with, over its input and output as the engine hands them on, and
leads all connections to one place.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.errors import DockerError
from stackproof.stack import ports, through_inside
from stackproof.stack.conversation import HEADER, STDERR
from stackproof.stack.engine import Engine
from stackproof.stack.through_inside import ASKED, BROKEN, OPEN, PIECE

_WITHIN = 60.0  # seconds for the first word of the program inside
_ENDING = 10.0
_ASKS = 10.0
_SILENT = 45.0
_SIZE = 65536
_FULL = 1 << 20  # bytes that wait to be sent before nobody is asked for more
_HEARD = 2000  # characters of what it complained of
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@contextmanager
def leading(engine: Engine, container: str, python: str, target: str) -> Iterator[str]:
    """A way to `target`, host:port as `container` calls it, for as long as the context lasts; yields host:port here.

    DockerError when the program inside does not answer.
    """
    text = Path(through_inside.__file__).read_text(encoding="utf-8")
    # As an argument: a file would need a folder that the engine shares, or a copy.
    raw, whole = engine.wired(container, [python, "-I", "-S", "-c", text, target])
    loop = asyncio.new_event_loop()
    way = _Way(loop, raw)
    thread = threading.Thread(target=_run, args=(loop, way), name=f"way to {target}", daemon=True)
    thread.start()
    try:
        if not way.there.wait(_WITHIN) or way.port is None:
            raise DockerError(
                f"no way leads to {target} through the engine at {engine.endpoint}: {way.why()}",
                hint=f"`{python}` runs there for it; it needs Python 3.11",
            )
        yield f"{ports.LOOPBACK}:{way.port}"
    finally:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(way.ended.set)
        thread.join(timeout=_ENDING)
        for item in (raw, whole):
            with contextlib.suppress(OSError):
                item.close()


def _run(loop: asyncio.AbstractEventLoop, way: _Way) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(way.lead())
    finally:
        way.there.set()
        loop.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Open:
    """A connection of this side. done: nothing more comes from inside."""

    writer: asyncio.StreamWriter
    done: asyncio.Event


class _Way:
    """What comes and goes on the engine's socket; everything but `there` and `port` belongs to the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, raw: Any) -> None:
        self.there = threading.Event()
        self.port: int | None = None
        self.ended = asyncio.Event()
        self._loop, self._raw = loop, raw
        self._room, self._answered = asyncio.Event(), asyncio.Event()
        self._to_send, self._frames, self._pieces = bytearray(), bytearray(), bytearray()
        self._complained = b""
        self._open: dict[int, _Open] = {}
        self._last = ASKED
        self._heard_at = time.monotonic()

    def why(self) -> str:
        """Why nothing comes any more."""
        said = self._complained.decode("utf-8", "replace").strip()
        return said.splitlines()[-1] if said else "nothing answers in the container that leads there"

    async def lead(self) -> None:
        """Take connections, once the program inside has answered, until `ended`."""
        self._raw.setblocking(False)
        self._loop.add_reader(self._raw.fileno(), self._ready)
        self._room.set()
        self._send(ASKED, 0)
        first = [asyncio.ensure_future(self._answered.wait()), asyncio.ensure_future(self.ended.wait())]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED, timeout=_WITHIN)
        server = None
        if self._answered.is_set():
            server = await asyncio.start_server(self._connection, ports.LOOPBACK, 0)
            self.port = int(server.sockets[0].getsockname()[1])
        self.there.set()
        if server is not None:
            await self._watch()
            server.close()
        self._loop.remove_reader(self._raw.fileno())
        self._loop.remove_writer(self._raw.fileno())
        for one in self._open.values():
            one.writer.transport.abort()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _watch(self) -> None:
        """Until `ended`, or nobody answers there any more: whoever waits for an answer is not left waiting."""
        self._heard_at = time.monotonic()
        while not self.ended.is_set() and time.monotonic() - self._heard_at < _SILENT:
            self._send(ASKED, 0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), _ASKS)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._last += 1
        number = self._last
        done = asyncio.Event()
        self._open[number] = _Open(writer=writer, done=done)
        try:
            self._send(number, OPEN)
            while data := await reader.read(_SIZE):
                self._send(number, len(data), data)
                await self._room.wait()
            self._send(number, 0)
            await done.wait()
        except OSError:
            self._send(number, BROKEN)
        except asyncio.CancelledError:
            pass  # all of it ends; asyncio's streams would print the error
        finally:
            del self._open[number]
            writer.close()

    def _send(self, number: int, size: int, data: bytes = b"") -> None:
        self._to_send += PIECE.pack(number, size) + data
        self._ready()

    def _ready(self) -> None:
        """Send and take whatever can be sent and taken now: with TLS, each may have to wait for the other."""
        try:
            self._send_all()
            self._take_all()
        except (OSError, ValueError):  # also of a socket without its TLS
            self.ended.set()

    def _send_all(self) -> None:
        waits = False
        while self._to_send and not waits:
            try:
                del self._to_send[: self._raw.send(self._to_send[:_SIZE])]
            except _AGAIN:
                waits = True
        if waits:
            self._loop.add_writer(self._raw.fileno(), self._ready)
        else:
            self._loop.remove_writer(self._raw.fileno())
        if len(self._to_send) < _FULL:
            self._room.set()
        else:
            self._room.clear()

    def _take_all(self) -> None:
        while True:
            try:
                data = self._raw.recv(_SIZE)
            except ssl.SSLWantWriteError:
                self._loop.add_writer(self._raw.fileno(), self._ready)
                return
            except _AGAIN:
                return
            if not data:
                self.ended.set()
                return
            self._heard_at = time.monotonic()
            self._frames += data
            self._unframe()

    def _unframe(self) -> None:
        while len(self._frames) >= HEADER.size:
            kind, size = HEADER.unpack_from(self._frames)
            if len(self._frames) < HEADER.size + size:
                return
            data = bytes(self._frames[HEADER.size : HEADER.size + size])
            del self._frames[: HEADER.size + size]
            if kind == STDERR:
                self._complained = (self._complained + data)[-_HEARD:]
            else:
                self._pieces += data
                self._unpiece()

    def _unpiece(self) -> None:
        while len(self._pieces) >= PIECE.size:
            number, size = PIECE.unpack_from(self._pieces)
            length = 0 if size == BROKEN else size
            if len(self._pieces) < PIECE.size + length:
                return
            data = bytes(self._pieces[PIECE.size : PIECE.size + length])
            del self._pieces[: PIECE.size + length]
            if number == ASKED:
                self._answered.set()
            elif (one := self._open.get(number)) is not None:
                _hand_on(one, None if size == BROKEN else data)


def _hand_on(one: _Open, data: bytes | None) -> None:
    if data:
        one.writer.write(data)
        return
    one.done.set()
    if data is None:
        one.writer.transport.abort()
    else:
        with contextlib.suppress(OSError):
            one.writer.write_eof()
