"""Runs in a container beside the stack: connections come in on its standard input, and go on to one place.

`python -c … HOST:PORT`, standard library only. What it reads and writes are pieces: number of a connection and size of
what follows, four bytes each. OPEN in the place of a size begins a connection, no size ends its direction, BROKEN
breaks it. A piece of number 0 is said back, for whoever asks whether anybody is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import sys

PIECE = struct.Struct(">II")
OPEN, BROKEN = 0xFFFFFFFE, 0xFFFFFFFF
ASKED = 0
_SIZE = 65536

Given = asyncio.Queue[bytes | None]


async def main(target: str) -> None:
    """Until the input ends, and with it whoever has asked for all this."""
    loop = asyncio.get_running_loop()
    said = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    out = asyncio.StreamWriter(transport, protocol, None, loop)
    given: dict[int, Given] = {}
    tasks: set[asyncio.Task[None]] = set()
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            number, size = PIECE.unpack(await said.readexactly(PIECE.size))
            data = None if size == BROKEN else b"" if size == OPEN else await said.readexactly(size)
            if number == ASKED:
                out.write(PIECE.pack(ASKED, 0))
            elif size == OPEN:
                given[number] = asyncio.Queue()
                task = asyncio.ensure_future(_connection(number, target, given, out))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            elif number in given:  # else it has ended here
                given[number].put_nowait(data)


async def _connection(number: int, target: str, given: dict[int, Given], out: asyncio.StreamWriter) -> None:
    host, _, port = target.rpartition(":")
    both: list[asyncio.Future[None]] = []
    writer: asyncio.StreamWriter | None = None
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
        both += [
            asyncio.ensure_future(_forth(given[number], writer)),
            asyncio.ensure_future(_back(number, reader, out)),
        ]
        await asyncio.gather(*both)
    except OSError:
        out.write(PIECE.pack(number, BROKEN))
    finally:
        del given[number]
        for one in both:
            one.cancel()
        if writer is not None:
            writer.close()


async def _forth(given: Given, writer: asyncio.StreamWriter) -> None:
    while data := await given.get():
        writer.write(data)
        await writer.drain()
    if data is None:
        raise ConnectionAbortedError
    writer.write_eof()


async def _back(number: int, reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
    while True:
        data = await reader.read(_SIZE)
        out.write(PIECE.pack(number, len(data)) + data)
        await out.drain()
        if not data:
            return


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
