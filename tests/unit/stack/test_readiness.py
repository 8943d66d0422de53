"""One probe, against real sockets."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from stackproof.stack.ports import free_port
from stackproof.stack.readiness import PROBE_HEADER, Answer, probe


class Handler(http.server.BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None]] = []  # noqa: RUF012 - one list for all requests is what the tests read

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get(PROBE_HEADER)))
        status = int(self.path.partition("?")[0].strip("/"))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/200")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        return


@pytest.fixture
def server() -> Iterator[str]:
    Handler.seen.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join(timeout=60)


@pytest.mark.parametrize("status", [200, 302, 404, 503])
def test_the_status_is_what_the_server_said_and_redirects_are_not_followed(server: str, status: int) -> None:
    answer = probe(f"{server}/{status}", "7f3c2a")
    assert answer == Answer(status=status)
    assert str(answer) == f"answered {status}"
    assert Handler.seen == [(f"/{status}", "7f3c2a")]


def test_a_query_is_sent(server: str) -> None:
    probe(f"{server}/200?full=1", "x")
    assert Handler.seen == [("/200?full=1", "x")]


def test_a_proxy_in_the_environment_is_passed_by(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    assert probe(f"{server}/200", "x").status == 200


def test_nobody_there() -> None:
    answer = probe(f"http://127.0.0.1:{free_port()}/", "x")
    assert str(answer) == "did not answer: nothing listens there"
    assert answer.nobody


def test_a_connection_without_an_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        answer = probe(f"http://127.0.0.1:{mute.getsockname()[1]}/", "x", timeout=0.2)
    assert str(answer) == "took the connection but answered nothing"
    assert not answer.nobody


@pytest.mark.parametrize(("said", "words"), [(b"", "closed the connection"), (b"220 smtp\r\n", "220 smtp")])
def test_something_that_does_not_speak_http(said: bytes, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        found = probe(f"http://127.0.0.1:{listener.getsockname()[1]}/", "x")
        thread.join(timeout=60)
    assert str(found).startswith("did not answer in HTTP: ")
    assert words in str(found)
