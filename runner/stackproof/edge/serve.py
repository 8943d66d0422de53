"""`python -m stackproof.edge.serve`: the edge's own process, in an environment that holds aiohttp and nothing else.

Told by STACKPROOF_RECORDER (the run's settings) and its arguments: --host, --port, and --own NAME=PORT for each
provider that has an address of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import ssl
import sys
from collections.abc import Sequence

import aiohttp
from aiohttp import web

from stackproof.edge.addresses import Addresses
from stackproof.edge.exchange import Exchange
from stackproof.edge.ownership import without_scope
from stackproof.edge.proxies import Proxies
from stackproof.edge.refusals import SAYS
from stackproof.recorder.brain import Brain
from stackproof.recorder.settings import VARIABLE, Settings

# A header may carry what a stack was given by its clients: keys, tokens, ids.
_HEADER = 64 * 1024
_CONNECT, _READ = 60.0, 900.0  # seconds for a connection; between two pieces of an answer
# Longer than any client keeps a connection: one that is closed here just then would be a call that failed.
_IDLE = 3600.0
_SHUTDOWN = 2.0
_BACKLOG = 1024


def main(argv: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="stackproof.edge.serve")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--own", action="append", default=[], metavar="NAME=PORT")
    options = parser.parse_args(argv)
    settings = Settings.from_json(os.environ[VARIABLE])
    named = [provider.name for provider in settings.providers if provider.prefixes]
    pairs = (pair.rpartition("=") for pair in options.own)
    own = {name: int(port) for name, _, port in pairs if name in named}
    logging.basicConfig(level=logging.CRITICAL)
    logging.getLogger("aiohttp.server").addFilter(_one_line)
    try:
        brain = Brain(settings, os.environ)
        brain.without_scope = without_scope
        asyncio.run(_serve(brain, options.host, options.port, own))
    except OSError as error:
        print(f"{SAYS}cannot serve: {error}", file=sys.stderr)
        return 1
    return 0


async def _serve(brain: Brain, host: str, port: int, own: dict[str, int]) -> None:
    stopped = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)
    async with contextlib.AsyncExitStack() as undo:
        undo.callback(brain.ledger.close)
        undo.callback(brain.settle, 0.0)
        session = await undo.enter_async_context(
            aiohttp.ClientSession(
                # Every provider's certificate is verified, against what SSL_CERT_FILE and SSL_CERT_DIR name.
                connector=aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context()),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT, sock_read=_READ),
                auto_decompress=False,
                max_line_size=_HEADER,
                max_field_size=_HEADER,
            )
        )
        exchange = Exchange(brain, Addresses(brain.settings.providers), session, Proxies(os.environ))
        for name, number in ((None, port), *own.items()):
            server = web.Server(
                exchange.at(name),
                handler_cancellation=True,
                keepalive_timeout=_IDLE,
                access_log=None,
                auto_decompress=False,
                max_line_size=_HEADER,
                max_field_size=_HEADER,
            )
            runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN)
            await runner.setup()
            undo.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, host, number, backlog=_BACKLOG).start()
        await stopped.wait()


def _one_line(record: logging.LogRecord) -> bool:
    """What a broken request did to the server's parser is no reason for a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    what = f"{record.getMessage()}: {type(error).__name__}: {error}" if error else record.getMessage()
    print(f"{SAYS}{' '.join(what.split())}", file=sys.stderr, flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
