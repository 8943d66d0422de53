"""Hands connections on, as a task: also by itself (`python pump.py LISTEN TARGET`), in a container of any image.

A place is `host:port`, or the path of a Unix socket (with a slash in it). Standard library only.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys

_PIECE = 65536
IP_FREEBIND = 15  # of Linux; `socket` does not name it


async def serve(listen: str, target: str, ready: asyncio.Event | None = None) -> None:
    """Hand every connection to `listen` on to `target` until cancelled; OSError when `listen` is taken."""
    # What waits for the far end of a connection is held by nobody else once the near one has said its last word.
    handling: set[asyncio.Task[None] | None] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        handling.add(task := asyncio.current_task())
        try:
            far_reader, far_writer = await _connect(target)
            ends.append(far_writer)
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        except OSError:
            writer.transport.abort()  # as a port at which nobody listens, or whose listener has gone
        except asyncio.CancelledError:
            pass  # the forwarder ends; asyncio's streams would print the error
        finally:
            handling.discard(task)
            for end in ends:
                end.close()

    if "/" in listen:
        server = await asyncio.start_unix_server(handle, listen)
    else:
        server = await asyncio.start_server(handle, sock=_listener(*listen.rpartition(":")[::2]))
    if ready is not None:
        ready.set()
    try:
        await asyncio.Event().wait()
    finally:
        # Not `async with`: from Python 3.12 on that would wait for the connections that are open.
        server.close()


def _listener(host: str, port: str) -> socket.socket:
    """A socket for an address that this machine may only be about to have, as it is with networks of Podman."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        made.bind((host, int(port)))
    except BaseException:
        made.close()
        raise
    return made


async def _connect(target: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if "/" in target:
        return await asyncio.open_unix_connection(target)
    host, _, port = target.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end, and say there that it was the end: the other direction may go on."""
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
