"""The middleware of a WSGI server: whose request it is holds for the call, each part of the body, and its end."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from wsgiref.util import FileWrapper

import pytest

from stackproof.recorder import client, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, UNKNOWN, Scope
from stackproof.recorder.serve.wsgi import WSGIMiddleware
from stackproof.recorder.settings import Settings

_TEST = "tests/a.py::test_ü[x,y]"
_OWNER = Scope(name=_TEST, test_id=_TEST)
_FIXTURE = Scope(name="fixture:tests/a.py::f[1]", test_id=_TEST, attempt=2, worker="gw0")


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    """A brain that nobody has installed."""
    made = Brain(
        Settings(mode=Mode.REPLAY, recordings=str(tmp_path), setup="s", run_dir=str(tmp_path / "run"), run_id="abcdef"),
        {},
    )
    yield made
    made.ledger.close()


def _start(*_: Any) -> Callable[[bytes], None]:
    return lambda _: None


def _environ(owner: Scope | None, brain: Brain, **more: Any) -> dict[str, Any]:
    ours = {} if owner is None else {"HTTP_X_PROVIDER_DATA": scope.to_header(owner, None, brain.settings.run_dir)}
    return {"REQUEST_METHOD": "GET", **ours, **more}


class _Told:
    """An application whose body says at each step whose request is in force, and how many are being served."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain
        self.steps: list[tuple[str, Scope | None, int, int]] = []
        self.environ: dict[str, Any] = {}

    def step(self, name: str) -> None:
        """Note what is in force now."""
        serving = self.brain.ledger.wait_for_serving(_OWNER, 0)
        self.steps.append((name, scope.current(), self.brain.requests_with_scope, serving))

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.environ = environ
        self.step("call")
        return _Parts(self)


class _Parts:
    def __init__(self, told: _Told) -> None:
        self._told = told
        self._left = [b"a", b"b"]

    def __iter__(self) -> _Parts:
        self._told.step("iter")
        return self

    def __next__(self) -> bytes:
        self._told.step("part")
        if not self._left:
            raise StopIteration
        return self._left.pop(0)

    def close(self) -> None:
        self._told.step("close")


def test_the_scope_holds_for_the_call_each_part_and_the_end_and_in_between_for_nobody(brain: Brain) -> None:
    told = _Told(brain)
    body = WSGIMiddleware(told, brain)(_environ(_OWNER, brain), _start)
    assert (scope.current(), brain.requests_with_scope) == (None, 1)
    assert list(body) == [b"a", b"b"]
    assert (scope.current(), brain.requests_with_scope, brain.ledger.wait_for_serving(_OWNER, 0)) == (None, 1, 1)
    body.close()  # type: ignore[attr-defined]
    assert told.steps == [(name, _OWNER, 1, 1) for name in ("call", "iter", "part", "part", "part", "close")]
    assert (brain.requests_with_scope, brain.ledger.wait_for_serving(_OWNER, 0)) == (0, 0)
    body.close()  # type: ignore[attr-defined]
    assert brain.requests_with_scope == 0, "an end counts once"


def test_parts_may_be_asked_for_by_other_threads(brain: Brain) -> None:
    told = _Told(brain)
    body = iter(WSGIMiddleware(told, brain)(_environ(_OWNER, brain), _start))
    found: list[bytes] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: found.append(next(body)))
        thread.start()
        thread.join(60)
    assert found == [b"a", b"b"]
    assert {step[1] for step in told.steps} == {_OWNER}


def test_our_headers_are_taken_out_and_the_rest_stays(brain: Brain) -> None:
    told = _Told(brain)
    environ = _environ(None, brain, HTTP_ACCEPT="*/*", HTTP_BAGGAGE="user=7,stackproof.scope=gone,team=a")
    environ["HTTP_X_PROVIDER_DATA"] = scope.to_header(_FIXTURE, '{"key": "k"}', brain.settings.run_dir)
    WSGIMiddleware(told, brain)(environ, _start)
    assert told.environ is environ, "server and application share it"
    assert told.steps[0][1] == _FIXTURE
    assert json.loads(environ.pop("HTTP_X_PROVIDER_DATA")) == {"key": "k"}
    assert environ == {"REQUEST_METHOD": "GET", "HTTP_ACCEPT": "*/*", "HTTP_BAGGAGE": "user=7,team=a"}


@pytest.mark.parametrize(
    ("headers", "whose", "left"),
    [
        ({}, UNKNOWN, {}),
        ({"HTTP_X_PROVIDER_DATA": "no json"}, UNKNOWN, {"HTTP_X_PROVIDER_DATA": "no json"}),
        ({"HTTP_X_STACKPROOF_PROBE": "1"}, STACK, {}),
        ({"HTTP_BAGGAGE": "user=7"}, UNKNOWN, {"HTTP_BAGGAGE": "user=7"}),
        ({"HTTP_BAGGAGE": "stackproof.scope=tests%2Fa.py%3A%3Atest_%C3%BC%5Bx%2Cy%5D"}, _OWNER, {}),
    ],
    ids=["nothing", "theirs", "probe", "their baggage", "our baggage"],
)
def test_whose_a_request_without_the_id_header_is(
    brain: Brain, headers: dict[str, str], whose: Scope, left: dict[str, str]
) -> None:
    told = _Told(brain)
    WSGIMiddleware(told, brain)(_environ(None, brain, **headers), _start)
    assert told.steps[0][1] == whose
    assert {name: value for name, value in told.environ.items() if name.startswith("HTTP_")} == left


@pytest.mark.parametrize("made", [[b"all"], (b"all",)], ids=["list", "tuple"])
def test_a_body_that_is_there_already_is_handed_on_as_it_is(brain: Brain, made: Any) -> None:
    body = WSGIMiddleware(lambda *_: made, brain)(_environ(_OWNER, brain), _start)
    assert body is made, "servers look at its kind to send it in one piece"
    assert (brain.requests_with_scope, brain.ledger.wait_for_serving(_OWNER, 0)) == (0, 0)


def test_a_file_is_handed_on_as_what_the_server_sends_by_itself(brain: Brain, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    with path.open("rb") as file:
        wrapped = FileWrapper(file)
        environ = _environ(_OWNER, brain, **{"wsgi.file_wrapper": FileWrapper})
        assert WSGIMiddleware(lambda *_: wrapped, brain)(environ, _start) is wrapped


def test_a_wrapper_around_something_that_is_no_file_is_read_within_the_request(brain: Brain) -> None:
    read: list[Scope | None] = []

    class Answer:
        def read(self, _: int) -> bytes:
            read.append(scope.current())
            return b"" if len(read) > 1 else b"x"

    environ = _environ(_OWNER, brain, **{"wsgi.file_wrapper": FileWrapper})
    body = WSGIMiddleware(lambda *_: FileWrapper(Answer()), brain)(environ, _start)  # type: ignore[arg-type]
    assert list(body) == [b"x"]
    assert read == [_OWNER, _OWNER]


@pytest.mark.parametrize("where", ["call", "part", "close"])
def test_an_exception_comes_through_and_ends_the_request(brain: Brain, where: str) -> None:
    class Broken(_Parts):
        def __next__(self) -> bytes:
            if where == "part":
                raise ZeroDivisionError
            return super().__next__()

        def close(self) -> None:
            if where == "close":
                raise ZeroDivisionError

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if where == "call":
            raise ZeroDivisionError
        return Broken(_Told(brain))

    def serve() -> None:
        # As PEP 3333 wants it of a server.
        body = WSGIMiddleware(app, brain)(_environ(_OWNER, brain), _start)
        try:
            list(body)
        finally:
            body.close()  # type: ignore[attr-defined]

    with pytest.raises(ZeroDivisionError):
        serve()
    assert scope.current() is None
    assert (brain.requests_with_scope, brain.ledger.wait_for_serving(_OWNER, 0)) == (0, 0)


def test_a_server_that_forgets_to_close_a_body_ends_the_request_by_dropping_it(brain: Brain) -> None:
    body = WSGIMiddleware(_Told(brain), brain)(_environ(_OWNER, brain), _start)
    assert brain.requests_with_scope == 1
    del body
    assert (brain.requests_with_scope, brain.ledger.wait_for_serving(_OWNER, 0)) == (0, 0)


def test_a_websocket_is_nothing_that_the_end_of_a_test_waits_for(brain: Brain) -> None:
    told = _Told(brain)
    WSGIMiddleware(told, brain)(_environ(_OWNER, brain, HTTP_UPGRADE="WebSocket"), _start)
    assert told.steps[0] == ("call", _OWNER, 1, 0)


def test_threads_count_right(brain: Brain) -> None:
    middleware = WSGIMiddleware(lambda *_: iter([b"x"]), brain)

    def work(_: int) -> None:
        body = middleware(_environ(_OWNER, brain), _start)
        assert list(body) == [b"x"]
        body.close()  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1600)))
    assert (brain.requests_with_scope, brain.ledger.wait_for_serving(_OWNER, 0)) == (0, 0)


def test_the_process_that_answers_leaves_a_mark_that_names_its_server(brain: Brain) -> None:
    import os

    marks = Path(brain.settings.run_dir, "marks")
    WSGIMiddleware(_Told(brain), brain, "toy")(_environ(None, brain, HTTP_X_STACKPROOF_PROBE="1"), _start)
    assert json.loads((marks / f"{os.getpid()}.json").read_text())["server"] == "toy"


def test_an_application_can_be_told_whether_its_client_has_gone(brain: Brain) -> None:
    told: list[bool] = []

    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        yield b"x"
        told.append(client.has_left())

    ours, theirs = socket.socketpair()
    with ours, theirs:
        body = WSGIMiddleware(app, brain)(_environ(_OWNER, brain, **{"werkzeug.socket": ours}), _start)
        theirs.close()
        assert list(body) == [b"x"]
        assert list(WSGIMiddleware(app, brain)(_environ(_OWNER, brain), _start)) == [b"x"]
    assert told == [True, False], "a server that does not show its connection leaves it open"
    assert client.has_left() is False


def test_a_client_that_stays_is_waited_for_and_has_not_gone() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert client.closed(ours, 0.1) is False
        ours.settimeout(30)
        assert client.closed(ours, 0.1) is False
        theirs.send(b"more")
        assert client.closed(ours, 60) is False, "it has sent its next request already"
    assert client.closed(ours, 60) is False
    assert client.closed(object(), 60) is False
