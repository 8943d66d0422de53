"""A provider on the loopback interface, for benchmarks: what it answers is made up by whoever starts it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Path and body of a request -> content type, and the chunks that the answer is sent in.
Answer = Callable[[str, bytes], tuple[str, Sequence[bytes]]]

_APART = 0.0005  # seconds between the events of a stream, so that each is a chunk of its own, as providers send them


@contextlib.contextmanager
def provider(answer: Answer) -> Iterator[str]:
    """A server on a free port, gone at the end of the block; the base URL that an SDK takes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            kind, parts = answer(self.path, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for part in parts:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                if len(parts) > 1:
                    time.sleep(_APART)
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            """Say nothing."""

    http = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1"
    finally:
        http.shutdown()
        http.server_close()
        thread.join(timeout=5)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: an SDK leaves a stream at its end mark, before the body is over."""
