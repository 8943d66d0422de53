"""A test's teardown sees what the stack wrote elsewhere, waits for what it does, and is told when nobody knows."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from stackproof.evidence import running
from stackproof.recorder import elsewhere
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.scope import Scope
from stackproof.stack import mirror_inside
from stackproof.stack.conversation import Conversation, EndedError
from stackproof.stack.mirror import Mirror
from stackproof.stack.received import Received

OWNER = Scope(name="tests/integration/test_it.py::test_x")


class Framed:
    """The program's output, in the frames of an engine."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def write(self, data: bytes) -> None:
        """One frame of standard output."""
        self._end.sendall(struct.pack(">BxxxI", 1, len(data)) + data)

    def writelines(self, pieces: Iterator[bytes]) -> None:
        """One frame each."""
        for piece in pieces:
            self.write(piece)

    def flush(self) -> None:
        """Everything was sent."""


class Engine:
    """Runs `mirror_inside` in a thread, with a folder of its own for the container's."""

    def __init__(self, inside: Path) -> None:
        self.inside = inside
        self.far: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def converse(self, container: str, command: list[str], *, silent: float) -> Conversation:
        """As the engine's."""
        near, self.far = socket.socketpair()
        asked: BinaryIO = self.far.makefile("rb")
        told: Any = Framed(self.far)

        def run() -> None:
            with asked, contextlib.suppress(OSError):  # nobody listens any more
                mirror_inside.serve(str(self.inside), asked, told)

        self._thread = threading.Thread(target=run)
        self._thread.start()
        return Conversation(near, timeout=silent)

    def end(self) -> None:
        """The container is gone."""
        if self.far is not None:
            with contextlib.suppress(OSError):
                self.far.shutdown(socket.SHUT_RDWR)
            self.far.close()
        if self._thread is not None:
            self._thread.join(timeout=60)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[Ledger, Path, Mirror, Engine]]:
    """The books of the container, the folder of the tests' side, and what keeps it in step."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    engine: Any = Engine(inside)
    mirror = Mirror(outside, Received(outside))
    mirror.start(engine, "container", "python", Path("mirror_inside.py"))
    ledger = Ledger(str(inside))
    try:
        yield ledger, outside, mirror, engine
    finally:
        mirror.close()
        engine.end()
        ledger.close()


def after(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def test_what_the_stack_noted_before_is_there_when_the_answer_comes(
    sides: tuple[Ledger, Path, Mirror, Engine],
) -> None:
    ledger, outside, _, _ = sides
    near = Ledger(str(outside))
    for number in range(20):
        ledger.note("misses", {"number": number})
        near.note("misses", {"number": -number})
        assert elsewhere.fetch(str(outside)) == elsewhere.Told()
        numbers = [entry["number"] for entry in near.read("misses")[0]]
        assert numbers.count(number) == (2 if number == 0 else 1)
    near.close()


def test_a_recording_comes_with_the_line_that_names_it(sides: tuple[Ledger, Path, Mirror, Engine]) -> None:
    ledger, outside, _, engine = sides
    staged = engine.inside / "staged/abc/1"
    staged.mkdir(parents=True)
    (staged / "x.json").write_text("{}")
    ledger.note("calls", {"kind": "recorded"})
    elsewhere.fetch(str(outside))
    assert (outside / "staged/abc/1/x.json").read_text() == "{}"
    assert '"recorded"' in (outside / "calls.jsonl").read_text()


def test_a_request_that_is_still_served_is_waited_for(sides: tuple[Ledger, Path, Mirror, Engine]) -> None:
    ledger, outside, _, _ = sides
    token = ledger.begin_serving(OWNER)

    def served() -> None:
        ledger.note("misses", {"message": "at the very end"})
        ledger.done(token)

    began = time.monotonic()
    timer = after(0.4, served)
    told = elsewhere.fetch(str(outside), scope=OWNER.digest, serving=120)
    assert time.monotonic() - began >= 0.4
    assert told == elsewhere.Told()
    assert "at the very end" in (outside / "misses.jsonl").read_text()
    timer.join()


def test_calls_that_do_not_end_are_counted_after_their_time(sides: tuple[Ledger, Path, Mirror, Engine]) -> None:
    ledger, outside, _, _ = sides
    ledger.begin(OWNER)
    ledger.begin(OWNER)
    assert elsewhere.fetch(str(outside), scope=OWNER.digest, inflight=0.2).in_flight == 2
    assert elsewhere.fetch(str(outside), scope="0" * 12, inflight=120).in_flight == 0


def test_the_stack_learns_that_a_scope_has_ended(sides: tuple[Ledger, Path, Mirror, Engine]) -> None:
    ledger, outside, _, _ = sides
    near = Ledger(str(outside))
    near.end(OWNER)
    elsewhere.fetch(str(outside))
    assert ledger.has_ended(OWNER)
    near.close()


def test_when_the_way_breaks_everybody_who_asks_is_told(sides: tuple[Ledger, Path, Mirror, Engine]) -> None:
    ledger, outside, mirror, engine = sides
    ledger.begin_serving(OWNER)
    timer = after(0.3, engine.end)
    told = elsewhere.fetch(str(outside), scope=OWNER.digest, serving=120)
    assert "cannot be read out of its container" in told.problem
    timer.join()
    assert elsewhere.fetch(str(outside)).problem == told.problem
    assert mirror.problem == told.problem


def test_an_end_that_was_asked_for_is_no_problem(sides: tuple[Ledger, Path, Mirror, Engine]) -> None:
    _, outside, mirror, _ = sides
    mirror.close()
    assert mirror.problem == ""
    assert "is being stopped" in elsewhere.fetch(str(outside)).problem


def test_without_anybody_elsewhere_nothing_is_asked(tmp_path: Path) -> None:
    assert elsewhere.fetch(str(tmp_path), scope=OWNER.digest, serving=30) == elsewhere.Told()
    assert list(tmp_path.iterdir()) == []


def test_half_a_line_is_not_told(tmp_path: Path) -> None:
    teller = mirror_inside.Teller(str(tmp_path))
    (tmp_path / "calls.jsonl").write_bytes(b"one\ntw")
    assert list(teller.news()) == [("calls.jsonl", 0, b"one\n")]
    (tmp_path / "calls.jsonl").write_bytes(b"one\ntwo\n")
    assert list(teller.news()) == [("calls.jsonl", 4, b"two\n")]
    assert list(teller.news()) == []


def test_where_tests_run_beside_the_stack_recordings_are_theirs(tmp_path: Path) -> None:
    (tmp_path / "staged/scope").mkdir(parents=True)
    (tmp_path / "staged/scope/a.json").write_text("{}")
    (tmp_path / "tests.jsonl").write_text("one\n")
    assert [name for name, _, _ in mirror_inside.Teller(str(tmp_path), journals=True).news()] == ["tests.jsonl"]
    assert len(list(mirror_inside.Teller(str(tmp_path)).news())) == 2


def test_which_test_is_being_run_is_told_whenever_it_is_another(tmp_path: Path) -> None:
    teller, path = mirror_inside.Teller(str(tmp_path), journals=True), tmp_path / running.NAME
    for number, nodeid in enumerate(("a", "b"), start=1):
        path.write_bytes(running.record(nodeid, 1))
        os.utime(path, ns=(number, number))
        assert list(teller.news()) == [(mirror_inside.RUNNING, None, running.record(nodeid, 1))]
        assert list(teller.news()) == []


def test_what_a_command_complained_of_is_why_it_ended() -> None:
    near, far = socket.socketpair()
    talk = Conversation(near, timeout=60)
    far.sendall(struct.pack(">BxxxI", 2, 10) + b"no python\n")
    far.sendall(struct.pack(">BxxxI", 1, 6) + b"said\nx")
    assert talk.line() == b"said"
    far.close()
    with pytest.raises(EndedError, match="no python"):
        talk.line()
    talk.close()


def test_a_command_that_says_nothing_counts_as_ended() -> None:
    near, far = socket.socketpair()
    talk = Conversation(near, timeout=0.1)
    with pytest.raises(EndedError, match="answered nothing in time"):
        talk.line()
    talk.close()
    far.close()
