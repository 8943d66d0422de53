"""The provider service `llama-cpp`: real llama.cpp servers behind one URL, until SIGTERM or SIGINT.

    python serve.py [--host ADDRESS] --port PORT --cache FOLDER

The base URL for clients is http://ADDRESS:PORT/v1; GET /health answers 200 when every model is loaded. Exit codes:
0 after a signal, 1 when a model or a server failed, 2 for wrong arguments or a port that is taken.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from front import Front, Upstreams
from http_message import MAX_HEAD
from models import Model, ModelError, prepare

API_KEY_VARIABLE = "LLAMA_API_KEY"  # llama.cpp's own name for it
_SERVER = Path(__file__).with_name("llama_server.py")
_LOAD_DEADLINE = 120.0  # seconds
_STOP_DEADLINE = 1.0  # seconds from SIGTERM to SIGKILL of the servers


class ServiceError(Exception):
    """The service cannot go on."""


class PortError(ServiceError):
    """Somebody else has the port."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Child:
    """A llama.cpp server that was started, and the pipe on which it reports its port and its end."""

    model: Model
    process: subprocess.Popen[bytes]
    report: int


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Serve until a signal. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="serve.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--port", type=int, required=True, help="0: the kernel picks one, the `ready` line names it")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at; in a container 0.0.0.0")
    parser.add_argument("--cache", type=Path, required=True, help="folder for the model files")
    parser.add_argument(
        "--api-key",
        default=environ.get(API_KEY_VARIABLE),
        help=f"answer 401 to any other key; shows in process lists, {API_KEY_VARIABLE} does not",
    )
    given = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the event loop has its own handlers
    try:
        with _bound(given.host, given.port) as listener:
            models = prepare(given.cache.absolute())
            asyncio.run(_serve(listener, models, given.api_key, environ))
    except KeyboardInterrupt:
        return 0
    except PortError as error:
        print(f"llama-cpp: {error}", file=sys.stderr)
        return 2
    except ServiceError as error:
        print(f"llama-cpp: {error}", file=sys.stderr)
        return 1
    except ModelError as error:
        print(f"llama-cpp: {error}\nhint: {error.hint}", file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """The port, taken but not yet listening: a port that is taken is known before anything is downloaded."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise PortError(f"port {port} on {host} cannot be had: {error.strerror}.") from error
        yield listener


async def _serve(
    listener: socket.socket, models: Sequence[Model], api_key: str | None, environ: Mapping[str, str]
) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    front = Front(api_key=api_key)
    with _children(models, api_key, environ) as children:
        server = await asyncio.start_server(front, sock=listener, limit=MAX_HEAD)
        work = asyncio.ensure_future(_watch(front, children, listener.getsockname()))
        stop = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
        finally:
            server.close()
            work.cancel()
            stop.cancel()


async def _watch(front: Front, children: Sequence[Child], address: tuple[str, int]) -> None:
    """Open the front when all servers have reported; raise ServiceError when one of them ends."""
    host, port = address
    reports = [await _reader(child.report) for child in children]
    ports = {}
    try:
        async with asyncio.timeout(_LOAD_DEADLINE):
            for child, report in zip(children, reports, strict=True):
                line = await report.readline()
                if not line:
                    raise ServiceError(_ended(child))
                ports[child.model.alias] = int(json.loads(line)["port"])
    except TimeoutError as error:
        raise ServiceError(f"the models were not loaded within {_LOAD_DEADLINE:.0f} s.") from error
    front.upstreams = Upstreams(ports=ports, default=children[0].model.alias)
    print(f"llama-cpp: ready at http://{host}:{port}/v1 with {', '.join(ports)}", flush=True)
    ends = {asyncio.ensure_future(report.read()): child for child, report in zip(children, reports, strict=True)}
    done, rest = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    raise ServiceError(_ended(ends[done.pop()]))


@contextlib.contextmanager
def _children(models: Sequence[Model], api_key: str | None, environ: Mapping[str, str]) -> Iterator[list[Child]]:
    variables = {name: value for name, value in environ.items() if name != API_KEY_VARIABLE}
    variables["GGML_NO_BACKTRACE"] = "1"  # a server that aborts would start a debugger first, for a second or more
    if api_key is not None:
        variables[API_KEY_VARIABLE] = api_key
    children: list[Child] = []
    try:
        for model in models:
            report, write_end = os.pipe()
            try:
                process = subprocess.Popen(
                    _command(model, write_end), env=variables, pass_fds=[write_end], stdin=subprocess.DEVNULL
                )
            finally:
                os.close(write_end)
            children.append(Child(model=model, process=process, report=report))
        yield children
    finally:
        _end(children)


def _command(model: Model, report: int) -> list[str]:
    # -I: whatever the caller's PYTHONPATH holds stays out of the provider.
    command = [sys.executable, "-I", str(_SERVER), "--model", str(model.path), "--alias", model.alias]
    command += ["--context", str(model.context), "--report", str(report), "--parent", str(os.getpid())]
    return [*command, "--embeddings"] if model.embeddings else command


def _end(children: Sequence[Child]) -> None:
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + _STOP_DEADLINE
    for child in children:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()


def _ended(child: Child) -> str:
    code = child.process.wait(_STOP_DEADLINE)
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"the llama.cpp server of {child.model.alias} ended ({how}); its log is above."


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
