"""What every server's requests need, whatever their protocol: whose each is, and a note of those being served."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from urllib.parse import unquote

from .. import scope as scopes
from ..brain import Brain
from . import marks

# Sent while the stack starts: such a request belongs to no test, and what it calls belongs to the stack.
PROBE = "x-stackproof-probe"
BAGGAGE = "baggage"
_MEMBER = "stackproof.scope"
_COLLECTIONS = (0.1, 0.4, 1.5)  # seconds from one to the next: what the request held is let go a moment after its end
# Servers with threads count at the same time, and one process may hold servers of two kinds.
_lock = threading.Lock()


def _over() -> None:
    return


class Serving:
    """The requests that one server receives in this process. `server`: its name, for the mark of the process."""

    def __init__(self, brain: Brain, server: str) -> None:
        self.brain = brain
        self.header = brain.settings.header.lower()
        self._server = server
        self._marked: int | None = None

    def id_in(self, value: str) -> tuple[scopes.Scope | None, str | None]:
        """The scope in a value of the id header, and what is left of it for the application (None: nothing)."""
        return scopes.from_header(value, self.brain.settings.run_dir)

    def received(self, owner: scopes.Scope | None, baggage: str | None, *, probe: bool) -> scopes.Scope:
        """Whose a request is that has arrived with these: the id header's scope, our member of baggage, the probe."""
        if self._marked != os.getpid():
            # The process that answers may be a fork of the one in which the recorder was installed.
            self._marked = os.getpid()
            marks.leave(self.brain, self._server)
        if probe:
            return scopes.STACK
        if owner is None and baggage:
            owner = scopes.Scope(name=baggage, test_id=None if baggage.startswith("fixture:") else baggage)
        return owner or scopes.UNKNOWN

    def begin(self, owner: scopes.Scope, *, lasting: bool) -> Callable[[], None]:
        """Note that a request is being served; returns what to call when it is over, which may be called again.

        lasting: a connection that stays open for ever (a websocket) is nothing that the end of a test could wait for.
        """
        if owner is scopes.STACK or owner is scopes.UNKNOWN:
            return _over
        brain = self.brain
        token = None if lasting else brain.ledger.begin_serving(owner)
        open_ones = [token]
        with _lock:
            brain.requests_with_scope += 1

        def end() -> None:
            with _lock:
                if not open_ones:
                    return
                open_ones.clear()
                brain.requests_with_scope -= 1
            if token is not None:
                brain.ledger.done(token)
            if brain.settings.mode.calls_out and brain.has_open(owner):
                threading.Thread(target=_collect, args=(brain, owner), name="stackproof-collect", daemon=True).start()

        return end


def _collect(brain: Brain, owner: scopes.Scope) -> None:
    """Find the streams that a request has left open and nobody holds any more: their recordings are written then.

    A relay whose client has gone ends with an error and closes nothing. Python closes what is dropped at its next
    collection, which may be minutes away, and the end of the test waits for it.
    """
    for seconds in _COLLECTIONS:
        time.sleep(seconds)
        if not brain.has_open(owner):
            return
        gc.collect()


def split_baggage(value: str) -> tuple[str | None, str]:
    """Our member of a W3C baggage header, decoded, and the header without it."""
    ours: str | None = None
    others = []
    for member in value.split(","):
        key, _, text = member.strip().partition("=")
        if key == _MEMBER:
            ours = unquote(text.partition(";")[0].strip())  # W3C lets a member have properties
        else:
            others.append(member.strip())
    return ours, ",".join(others)


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - the threads of a process share one
    _lock = threading.Lock()


# In a child, a thread that it does not have may hold its copy of the lock.
os.register_at_fork(after_in_child=_after_fork)
