"""One request with an end, through the proxies of the environment, to nobody else than who was asked."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stackproof.live.asking import Answer, NoAnswer, Question, ask, proxies

KEY = "sk-proj-abcdefghijklmnop1234567890"


@contextmanager
def server(respond: Callable[[Any], None]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server, its URL and the headers of each request that came."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            with suppress(OSError):
                respond(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}", seen
        running.shutdown()


def question(url: str) -> Question:
    return Question(method="GET", url=url, headers={"authorization": f"Bearer {KEY}"})


def asked(url: str, *, seconds: float = 60.0) -> Answer | NoAnswer:
    return ask(question(url), environ={}, deadline=time.monotonic() + seconds)


def send(handler: Any, status: int, body: bytes = b"{}", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def test_a_redirect_is_an_answer_and_takes_the_key_nowhere() -> None:
    with (
        server(lambda handler: send(handler, 200)) as (other, reached),
        server(lambda handler: send(handler, 307, Location=f"{other}/v1/models")) as (url, seen),
    ):
        answer = asked(f"{url}/v1/models")
    assert isinstance(answer, Answer)
    assert (answer.status, answer.headers["location"]) == (307, f"{other}/v1/models")
    assert [headers["authorization"] for headers in seen] == [f"Bearer {KEY}"]
    assert reached == []


def test_a_netrc_of_the_user_does_not_replace_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password something\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with server(lambda handler: send(handler, 200)) as (url, seen):
        asked(url)
    assert seen[0]["authorization"] == f"Bearer {KEY}"


def test_an_answer_that_drips_ends_at_the_deadline() -> None:
    def drip(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1_000):
            handler.wfile.write(b" ")
            time.sleep(0.05)

    with server(drip) as (url, _):
        began = time.monotonic()
        answer = asked(url, seconds=0.4)
    assert isinstance(answer, NoAnswer)
    assert "no whole answer within 0 s" in answer.why
    assert time.monotonic() - began < 20


def test_an_endless_answer_is_cut() -> None:
    def flood(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * (1 << 20))

    with server(flood) as (url, _):
        answer = asked(url, seconds=120)
    assert isinstance(answer, Answer)
    assert len(answer.body) == 4 << 20


def test_nothing_that_listens_is_said_with_the_place_and_without_its_password() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        answer = asked(f"http://user:{KEY}@127.0.0.1:{unused.getsockname()[1]}/v1")
        assert isinstance(answer, NoAnswer)
        assert answer.why == f"nothing accepts a connection at 127.0.0.1:{unused.getsockname()[1]}"


@pytest.mark.parametrize(
    ("url", "environ", "why"),
    [
        ("http://nowhere.invalid/v1", {}, "the name nowhere.invalid is not found"),
        ("ftp://127.0.0.1/v1", {}, "its address is no URL of http or https"),
        ("http:///v1", {}, "its address is no URL of http or https"),
        (
            "http://provider.invalid/",
            {"HTTP_PROXY": "http://u:secret-word@127.0.0.1:9"},
            "the proxy that the environment",
        ),
        (
            "https://provider.invalid/",
            {"SSL_CERT_FILE": "/no/such/file"},
            "the certificates that the environment names",
        ),
    ],
)
def test_what_goes_wrong_is_said_in_words_of_ours(url: str, environ: dict[str, str], why: str) -> None:
    answer = ask(question(url), environ=environ, deadline=time.monotonic() + 60)
    assert isinstance(answer, NoAnswer)
    assert answer.why.startswith(why)
    assert "secret-word" not in answer.why + answer.hint


def test_a_key_with_a_line_feed_is_in_no_message() -> None:
    broken = Question(method="GET", url="http://127.0.0.1:9/", headers={"authorization": f"Bearer {KEY}\n"})
    answer = ask(broken, environ={}, deadline=time.monotonic() + 60)
    assert isinstance(answer, NoAnswer)
    assert KEY not in repr(answer)
    assert KEY not in repr(broken)


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, {}),
        ({"HTTPS_PROXY": "http://p:1"}, {"https": "http://p:1"}),
        ({"https_proxy": "http://p:1", "ALL_PROXY": "http://q:2"}, {"https": "http://p:1", "all": "http://q:2"}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "openai.com"}, {}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, {"https": "http://p:1"}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, {}),
        ({"HTTPS_PROXY": ""}, {}),
    ],
)
def test_proxies_are_those_of_the_environment_that_was_given(environ: dict[str, str], found: dict[str, str]) -> None:
    assert proxies("https://api.openai.com/v1", environ) == found


def test_this_machine_is_asked_without_a_proxy() -> None:
    assert proxies("http://127.0.0.1:8080/v1", {"HTTP_PROXY": "http://p:1"}) == {}
