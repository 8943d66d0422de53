"""What a probe makes of what it met."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.edge import ProbeSpec
from stackproof.edge import probe, probes
from stackproof.edge.ownership import whose
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings

SPEC = ProbeSpec(path="/ask", body={"model": "{text_model}", "more": [{"of": "{text_model}!"}], "n": 1})


class Stack:
    """A stack of which the test says what it hands on to the edge."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[tuple[str, ...]] = [("X-Provider-Data",)]
        self.body: Any = None
        self.key: str | None = None
        settings = Settings(mode=Mode.REPLAY, recordings="r", setup="s", run_dir=str(folder), run_id="x")
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.key = self.headers["Authorization"]
                for names in outer.calls:
                    handed_on = [(name, self.headers[name]) for name in names]
                    probes.note(settings.run_dir, whose(handed_on, settings))
                self.send_response(500)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path)
    yield made
    made.server.shutdown()
    made.server.server_close()


def found(stack: Stack, folder: Path, spec: ProbeSpec | None = SPEC, key: str | None = None) -> str:
    return str(
        probe.find(
            base_url=stack.url, spec=spec, header="X-Provider-Data", cell_dir=folder,
            values={"text_model": "ollama/m"}, check=lambda: None, key=key,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([("X-Provider-Data",)], "ids: forwarded by the stack (X-Provider-Data)"),
        ([("X-Provider-Data", "baggage")], "ids: forwarded by the stack (X-Provider-Data)"),
        ([("baggage",)], "ids: forwarded by the stack (baggage)"),
        ([("baggage",), ("X-Provider-Data",)], "ids: forwarded by the stack (baggage)"),
        (
            [()],
            "ids: announced, so tests run one after the other (its calls carry neither X-Provider-Data nor baggage)",
        ),
        ([("baggage",), ()], "ids: announced, so tests run one after the other (only some of its calls carry the id)"),
        ([], "ids: announced, so tests run one after the other (POST /ask called no provider and was answered 500)"),
    ],
)
def test_how_ids_come_is_what_the_edge_met(
    stack: Stack, tmp_path: Path, calls: list[tuple[str, ...]], said: str
) -> None:
    stack.calls = calls
    assert found(stack, tmp_path) == said
    assert stack.body == {"model": "ollama/m", "more": [{"of": "ollama/m!"}], "n": 1}
    assert not list(tmp_path.glob("announced*")), "the probe's scope is taken back"


def test_a_stack_that_wants_a_key_gets_it(stack: Stack, tmp_path: Path) -> None:
    found(stack, tmp_path)
    assert stack.key is None
    found(stack, tmp_path, key="sk-tests")
    assert stack.key == "Bearer sk-tests"


def test_without_a_probe_ids_are_announced(stack: Stack, tmp_path: Path) -> None:
    assert found(stack, tmp_path, None).endswith("(its stack.yaml has no probe)")
    assert stack.body is None


def test_a_stack_that_does_not_answer_is_told_of(stack: Stack, tmp_path: Path) -> None:
    stack.server.shutdown()
    stack.server.server_close()
    assert "POST /ask called no provider and was not answered (ConnectionRefusedError)" in found(stack, tmp_path)
