"""A provider on loopback that behaves badly in one manner, for tests. Synthetic: no service stands behind it.

What it says, and where that is documented, is in bad_answers.py. One server has all manners: the base URL of one is
`http://127.0.0.1:PORT/for/MANNER/v1`, and without `/for/MANNER` it behaves in the manner that it was started with. A
call of the model `bad-MANNER` is answered in that manner, so that one run meets several of them.

    with bad_provider(Manner.NO_QUOTA) as provider:
        run(OPENAI_BASE_URL=provider.url)
        assert [asked.path for asked in provider.asked] == ["/v1/chat/completions"]

    python -m tests.e2e.live.bad_provider --manner slow --seconds 30 --port 8099

The list of models, and which keys are taken, is good in every manner that is about calls: an account without credit is
told of its models, too. Deterministic: no clock, no chance; a rate limit is over after one refusal for each path.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.e2e.live import bad_answers as answers
from tests.e2e.live.bad_answers import Refusal


class Manner(Enum):
    """How it behaves."""

    GOOD = "good"
    UNAUTHORIZED = "unauthorized"  # 401, with the key's ends, as OpenAI
    UNAUTHORIZED_WHOLE = "unauthorized-whole"  # 401, with the whole key
    FORBIDDEN = "forbidden"  # 403
    NO_QUOTA = "no-quota"  # 429 insufficient_quota: asking again never helps
    RATE_LIMIT = "rate-limit"  # 429 with Retry-After, then good
    NO_CREDIT = "no-credit"  # Anthropic's 400
    EXHAUSTED = "exhausted"  # Gemini's 429 RESOURCE_EXHAUSTED
    NO_MODEL = "no-model"  # 404
    OVERLOADED = "overloaded"  # 503, the list of models too
    SLOW = "slow"  # nothing at all for the given seconds, then good
    STALL = "stall"  # begins, and stops in the middle for the given seconds, then breaks off
    RESET = "reset"  # begins, and the connection is reset
    UNFINISHED = "unfinished"  # ends as HTTP should, before the event that ends the protocol


BROKEN = frozenset({Manner.STALL, Manner.RESET, Manner.UNFINISHED})
_OF_MODELS = {f"bad-{manner.value}": manner for manner in Manner}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One request as it arrived. path: without `/for/MANNER`. key: what it was signed with, in whichever header."""

    manner: Manner
    method: str
    path: str
    key: str
    body: Mapping[str, Any]


class BadProvider(ThreadingHTTPServer):
    """The server. `asked`: what arrived, in that order."""

    daemon_threads = True

    def __init__(self, manner: Manner, *, seconds: float, retry_after: int, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.manner = manner
        self.seconds = seconds
        self.retry_after = retry_after
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.to_reset: set[socket.socket] = set()

    @property
    def url(self) -> str:
        """The base URL in the server's own manner, with `/v1`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def url_of(self, manner: Manner) -> str:
        """The base URL in any manner."""
        return f"http://127.0.0.1:{self.server_address[1]}/for/{manner.value}/v1"

    def refusal_of(self, asked: Asked) -> Refusal | None:
        """What it says in place of an answer; None when it answers."""
        calls = [one for one in self.asked if (one.manner, one.path) == (asked.manner, asked.path)]
        everywhere: dict[Manner, Callable[[], Refusal | None]] = {
            Manner.UNAUTHORIZED: lambda: answers.unauthorized(asked.key, whole=False),
            Manner.UNAUTHORIZED_WHOLE: lambda: answers.unauthorized(asked.key, whole=True),
            Manner.FORBIDDEN: lambda: answers.FORBIDDEN,
            Manner.OVERLOADED: lambda: answers.OVERLOADED,
        }
        calls_only: dict[Manner, Callable[[], Refusal | None]] = {
            Manner.NO_QUOTA: lambda: answers.NO_QUOTA,
            Manner.RATE_LIMIT: lambda: answers.rate_limit(self.retry_after) if len(calls) == 1 else None,
            Manner.NO_CREDIT: lambda: answers.NO_CREDIT,
            Manner.EXHAUSTED: lambda: answers.EXHAUSTED,
            Manner.NO_MODEL: lambda: answers.no_model(str(asked.body.get("model"))),
        }
        rules = everywhere if asked.method == "GET" else {**everywhere, **calls_only}
        return rules.get(asked.manner, lambda: None)()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection: in order, or with a reset, before which no FIN may go out."""
        if request in self.to_reset:
            self.to_reset.discard(request)
            # A lingering time of 0 makes the kernel send RST.
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers leave; that is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "stackproof-bad-provider"
    sys_version = "(synthetic)"
    server: BadProvider

    whole: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
        "/v1/chat/completions": answers.chat,
        "/v1/responses": answers.response,
        "/v1/embeddings": answers.embeddings,
    }
    streams: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Iterator[bytes]]]] = {
        "/v1/chat/completions": answers.chat_stream,
        "/v1/responses": answers.response_stream,
    }

    def do_GET(self) -> None:
        """The list of models."""
        asked = self._asked({})
        refused = self.server.refusal_of(asked)
        if refused is None and asked.path != "/v1/models":
            refused = answers.NOT_FOUND
        if refused is not None:
            self._refuse(refused)
        else:
            self._send(200, answers.models())

    def do_POST(self) -> None:
        """A call."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        asked = self._asked(body)
        refused = self.server.refusal_of(asked)
        streamed = body.get("stream") is True and asked.path in self.streams
        if refused is not None:
            self._refuse(refused)
        elif streamed:
            self._stream(asked, list(self.streams[asked.path](body)))
        elif asked.path in self.whole:
            self._whole(asked, json.dumps(self.whole[asked.path](body)).encode())
        else:
            self._refuse(answers.NOT_FOUND)

    def _asked(self, body: Mapping[str, Any]) -> Asked:
        path, manner = self.path.partition("?")[0], self.server.manner
        if path.startswith("/for/"):
            name, _, rest = path.removeprefix("/for/").partition("/")
            path, manner = f"/{rest}", Manner(name)
        manner = _OF_MODELS.get(str(body.get("model")), manner)
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        key = bearer or self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or ""
        asked = Asked(manner=manner, method=self.command, path=path, key=key, body=body)
        self.server.asked.append(asked)
        return asked

    def _refuse(self, refused: Refusal) -> None:
        self._send(refused.status, refused.body, refused.headers)

    def _send(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self._begin(status, "application/json", {"content-length": str(len(content)), **(headers or {})})
        self.wfile.write(content)

    def _whole(self, asked: Asked, content: bytes) -> None:
        if asked.manner is Manner.SLOW:
            self.server.closing.wait(self.server.seconds)
        broken = asked.manner in BROKEN
        self._begin(200, "application/json", {"content-length": str(len(content))})
        self.wfile.write(content[: len(content) // 2] if broken else content)
        if broken:
            self._break(asked.manner)

    def _stream(self, asked: Asked, events: Sequence[bytes]) -> None:
        if asked.manner is Manner.SLOW:
            self.server.closing.wait(self.server.seconds)
        self._begin(200, "text/event-stream", {"transfer-encoding": "chunked"})
        # The event that ends the protocol is lost, and the one before it, which says how it ended.
        for event in events[:-2] if asked.manner in BROKEN else events:
            self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            self.wfile.flush()
        if asked.manner in BROKEN - {Manner.UNFINISHED}:
            self._break(asked.manner)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _begin(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        # Without the date: equal requests get equal answers.
        self.send_response_only(status)
        self.send_header("server", self.version_string())
        self.send_header("content-type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _break(self, manner: Manner) -> None:
        self.wfile.flush()
        self.close_connection = True
        if manner is Manner.STALL:
            self.server.closing.wait(self.server.seconds)
        if manner is not Manner.UNFINISHED:
            self.server.to_reset.add(self.connection)

    def log_message(self, *_: Any) -> None:
        """It says nothing: keys may be in what it would say."""


@contextmanager
def bad_provider(manner: Manner = Manner.GOOD, *, seconds: float = 60.0, retry_after: int = 1) -> Iterator[BadProvider]:
    """Running, on a port that the kernel chose, until the block ends. seconds: how long it waits where it is slow."""
    server = BadProvider(manner, seconds=seconds, retry_after=retry_after)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(60)


def main(argv: Sequence[str]) -> int:
    """Serve until Ctrl-C; the exit code."""
    parser = argparse.ArgumentParser(prog="bad_provider", description=__doc__)
    parser.add_argument("--manner", type=Manner, default=Manner.GOOD, choices=list(Manner))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--retry-after", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args(argv)
    server = BadProvider(given.manner, seconds=given.seconds, retry_after=given.retry_after, port=given.port)
    print(f"a bad provider (synthetic), {given.manner.value}, at {server.url}", flush=True)
    with contextlib.suppress(KeyboardInterrupt), server:
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
