"""A download says now and then how far it is, and a model that cannot be had is told in a sentence."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stackproof.errors import StackStartError
from stackproof.stack import model_pull, ports
from stackproof.stack.pulling import Progress


def test_progress_adds_up_what_is_known_and_says_it_now_and_then() -> None:
    now = [0.0]
    progress = Progress("somebody/image:1", clock=lambda: now[0])
    layer = {"status": "Downloading", "id": "a", "progressDetail": {"current": 10_000_000, "total": 40_000_000}}
    assert progress.line(layer) is None
    now[0] = 6.0
    assert progress.line({"status": "Waiting", "id": "b", "progressDetail": {}}) is None
    model_part = {"status": "pulling", "digest": "b", "completed": 5_000_000, "total": 60_000_000}
    assert progress.line(model_part) == "pulling somebody/image:1: 15 of 100 MB"
    assert progress.line(model_part) is None


def test_a_part_that_has_not_begun_counts_as_nothing() -> None:
    now = iter((0.0, 10.0))
    progress = Progress("model", clock=lambda: next(now))
    assert progress.line({"status": "pulling", "digest": "a", "total": 2_000_000}) == "pulling model: 0 of 2 MB"


@contextmanager
def answering(*events: dict[str, object]) -> Iterator[tuple[str, list[object]]]:
    """A server that says this to /api/pull; its origin, and what it was asked."""
    asked: list[object] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.end_headers()
            for event in events:
                self.wfile.write(json.dumps(event).encode() + b"\n")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join(timeout=60)


def pull(origin: str) -> None:
    model_pull.pull(origin, "smollm2:135m", service="ollama", say=print, check=lambda: None)


def test_a_model_is_there_when_the_service_says_so() -> None:
    with answering({"status": "pulling manifest"}, {"status": "success"}) as (origin, asked):
        pull(origin)
    assert asked == [("/api/pull", {"model": "smollm2:135m"})]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (({"error": "pull model manifest: file does not exist"},), "pull model manifest: file does not exist"),
        (({"status": "pulling manifest"},), "it ended before it was complete"),
    ],
)
def test_a_model_that_cannot_be_had_is_named_with_the_reason(events: tuple[dict[str, object], ...], why: str) -> None:
    with (
        answering(*events) as (origin, _),
        pytest.raises(StackStartError, match=f"ollama has not model smollm2:135m and could not fetch it: {why}"),
    ):
        pull(origin)


def test_a_service_that_is_gone_is_told() -> None:
    with pytest.raises(StackStartError, match=r"could not fetch it: .*refused"):
        pull(f"http://127.0.0.1:{ports.free_port()}")


def test_a_signal_ends_the_wait() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with answering({"status": "success"}) as (origin, _), pytest.raises(KeyboardInterrupt):
        model_pull.pull(origin, "m", service="ollama", say=print, check=interrupted)
