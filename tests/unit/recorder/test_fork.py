"""A process that was forked while others of its parent's threads were at work: nothing of theirs is in its way."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackproof.recorder import install, scope
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, Scope
from stackproof.recorder.settings import Provider, Settings

_URL = "http://localhost:1/v1"
_OWNER = Scope(name="tests/a.py::test", test_id="tests/a.py::test")


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    """A brain that is installed in this process."""
    settings = Settings(
        mode=Mode.RECORD,
        recordings=str(tmp_path / "recordings"),
        setup="s",
        run_dir=str(tmp_path / "run"),
        run_id="abcdef",
        providers=(Provider(name="p", variable="V", prefixes=(_URL,)),),
    )
    with install.installed(settings) as made:
        yield made


def _in_a_child(act: Callable[[], bool], seconds: float = 60.0) -> bool | None:
    """What `act` says in a fork of this process; None when it does not come to an end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and newer: a fork beside threads
        pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _ask(brain: Brain, say: str) -> Record:
    decision = brain.ask(Request(method="POST", url=f"{_URL}/x", headers={}, body=say.encode()))
    assert isinstance(decision, Record)
    return decision


def _held(lock: threading.Lock) -> Callable[[], None]:
    """Another thread takes the lock; returns what makes it let go."""
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            let_go.wait(120)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)

    def end() -> None:
        let_go.set()
        thread.join(60)

    return end


@pytest.mark.parametrize("which", ["claims", "ledger", "real ids", "serving"])
def test_a_lock_that_a_thread_of_the_parent_holds_is_free_in_the_child(brain: Brain, which: str) -> None:
    from stackproof.recorder.serve import serving

    server = serving.Serving(brain, "toy")
    lock = {
        "claims": brain.ledger._claims._lock,
        "ledger": brain.ledger._lock,
        "real ids": brain._sending.real_ids._lock,
        "serving": serving._lock,
    }[which]

    def works() -> bool:
        end = server.begin(_OWNER, lasting=False)
        number = brain.ledger.claim(_OWNER, "0" * 64)
        with scope.use(_OWNER):
            _ask(brain, "in the child").take.close()
        end()
        return number >= 1

    let_go = _held(lock)  # type: ignore[arg-type]
    try:
        assert _in_a_child(works) is True
    finally:
        let_go()


def test_numbers_go_on_in_the_child_and_in_the_parent_after_it(brain: Brain) -> None:
    assert brain.ledger.claim(_OWNER, "0" * 64) == 1
    assert _in_a_child(lambda: brain.ledger.claim(_OWNER, "0" * 64) == 2) is True
    assert brain.ledger.claim(_OWNER, "0" * 64) == 3


def test_a_call_of_the_parent_is_nothing_that_the_child_ends(brain: Brain) -> None:
    taken = _ask(brain, "of the parent").take
    taken.start(200, {"content-type": "text/plain"}, {"content-type": "text/plain"})
    taken.feed(b"half")

    def ends_it() -> bool:
        taken.close()
        return not brain.has_open(STACK) and brain.store.staged(STACK) == []

    assert _in_a_child(ends_it) is True
    assert brain.has_open(STACK)
    assert brain.ledger.calls_in_flight(STACK) == 1
    taken.feed(b" and half")
    taken.end()
    assert len(brain.store.staged(STACK)) == 1
    assert brain.ledger.calls_in_flight(STACK) == 0
