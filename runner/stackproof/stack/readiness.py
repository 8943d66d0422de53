"""Waits until a server answers over HTTP, and makes sure that the one which answers is the one we started."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from stackproof.catalog.records import ReadinessSpec
from stackproof.errors import StackStartError
from stackproof.plaintext import number
from stackproof.stack import ports, proctable, unmarked
from stackproof.stack.process import Process, last_lines


class Watched(Protocol):
    """What is started and waited for: a process of this machine, or a container."""

    name: str
    log: Path | None
    started_at: float

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""

    def elapsed(self) -> float:
        """Seconds since its start, or from there to its end."""

    def ending(self) -> str:
        """How it ended, in words."""

    def tail(self) -> tuple[str, ...]:
        """The last lines of its log."""


PROBE_HEADER = "X-Stackproof-Probe"
_STEP = 0.05
_REQUEST_TIMEOUT = 5.0
_MARK_GRACE = 1.0
_MARK_COMES = 15.0  # seconds, from a container whose files have to be brought here


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one probe met: an HTTP status, or why there was none. nobody: no listener was there to answer."""

    status: int | None = None
    problem: str = ""
    nobody: bool = False

    def __str__(self) -> str:
        """As it stands behind a URL in a message: "answered 404"."""
        return self.problem if self.status is None else f"answered {self.status}"


def probe(url: str, run_id: str, timeout: float = _REQUEST_TIMEOUT) -> Answer:
    """One GET of `url`, past every proxy, following no redirect; never raises for what a server does."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or ports.LOOPBACK, parts.port, timeout=timeout)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    try:
        connection.request("GET", target, headers={PROBE_HEADER: run_id, "Connection": "close"})
        with connection.getresponse() as response:
            return Answer(status=response.status)
    except TimeoutError:
        return Answer(problem="took the connection but answered nothing")
    except ConnectionRefusedError:
        return Answer(problem="did not answer: nothing listens there", nobody=True)
    except (http.client.HTTPException, OSError) as error:
        what = "closed the connection" if isinstance(error, http.client.RemoteDisconnected) else _words(error)
        return Answer(problem=f"did not answer in HTTP: {what}")
    finally:
        connection.close()


def refuse_foreign(*, name: str, port: int) -> None:
    """StackStartError when somebody listens on `port` already, before anything of ours was started there."""
    # Who can be bound to it is sure that nobody listens, and need not look through all sockets of this machine.
    if not ports.binds(port) and (found := ports.listeners(port)):
        raise _foreign(name, port, found)


def wait_ready(
    *,
    process: Watched,
    url: str,
    readiness: ReadinessSpec,
    timeout: float,
    run_id: str,
    marks: Path | None,
    check: Callable[[], None],
) -> float:
    """Wait until `url` answers as `readiness` says and our own process is behind it; seconds that this took.

    `marks` is the folder where processes that loaded the recorder leave `<pid>.json`; None when none is expected.
    `check` is called every 0.05 s and raises when the wait should end. StackStartError names what happened: an exit
    (noticed within 0.2 s), another status at the deadline, a foreign server, a process without the recorder.
    """
    deadline = process.started_at + timeout
    last = Answer(problem="did not answer")
    while True:
        prober = _Prober(url, run_id)
        while not prober.done.wait(_STEP):
            check()
            _still_running(process, url)
            if time.monotonic() >= deadline:
                pending = "took the connection but answered nothing" if last.status is None else str(last)
                raise _not_ready(process, url, Answer(problem=pending), readiness, timeout)
        last = prober.answer
        _still_running(process, url)
        # Whose listener it is takes a look at all sockets and processes of this machine: only once there is one.
        if not last.nobody:
            _ours(process, url)
        if last.status == readiness.status:
            if marks is not None:
                _recorder_loaded(process, url, marks, check)
            return process.elapsed()
        if time.monotonic() >= deadline:
            raise _not_ready(process, url, last, readiness, timeout)
        check()
        time.sleep(_STEP)


class _Prober:
    """One probe in a thread, so that a server which never answers does not hide that it exited."""

    def __init__(self, url: str, run_id: str) -> None:
        self.done = threading.Event()
        self.answer = Answer(problem="did not answer")
        self._url, self._run_id = url, run_id
        threading.Thread(target=self._run, name="stackproof-readiness", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answer = probe(self._url, self._run_id)
        finally:
            self.done.set()


def _still_running(process: Watched, url: str) -> None:
    if process.poll() is None:
        return
    raise StackStartError(
        f"{process.name} {process.ending()} after {process.elapsed():.1f} s, before {url} answered",
        hint=last_lines(process.log, process.tail()),
    )


def _ours(process: Watched, url: str) -> None:
    if not isinstance(process, Process):
        return  # a container has its address to itself
    port = urlsplit(url).port or 80
    if not proctable.available():
        return
    if not (found := ports.listeners(port, except_pids=process.family())):
        return
    # A process may have passed its socket on and left the family in this very moment: look twice before accusing.
    time.sleep(_STEP)
    if found := ports.listeners(port, except_pids=process.family()):
        raise _foreign(process.name, port, found)


def _recorder_loaded(process: Watched, url: str, marks: Path, check: Callable[[], None]) -> None:
    inodes = proctable.listening(urlsplit(url).port or 80) if isinstance(process, Process) else None
    pid: int | None = None
    if isinstance(process, Process) and not inodes:
        return
    deadline = time.monotonic() + (_MARK_GRACE if isinstance(process, Process) else _MARK_COMES)
    while True:
        if not isinstance(process, Process) or inodes is None:
            # Process ids of a container mean nothing here: any mark is one of its processes.
            if any(marks.glob("*.json")):
                return
            pid, who = None, "container"
        else:
            answering = proctable.holders(inodes, process.family())
            if not answering or any(unmarked.has_mark(pid, marks) for pid in answering):
                return
            pid = min(answering)
            who = f"{pid} ({proctable.command_line(pid) or 'its command cannot be read'})"
        if time.monotonic() >= deadline:
            break
        check()
        time.sleep(_STEP)
    raise StackStartError(
        f"the recorder was not loaded in the process that answers for {process.name}: {who}",
        hint=f"{unmarked.ANYTHING if pid is None else unmarked.why(pid, marks.parent / 'guest')}\n{unmarked.EDGE}",
    )


def _not_ready(process: Watched, url: str, last: Answer, wanted: ReadinessSpec, timeout: float) -> StackStartError:
    expected = "" if last.status is None else f"; {wanted.status} was expected"
    return StackStartError(
        f"{process.name} is not ready: {url} {last} after {number(timeout)} s{expected}",
        hint="\n".join(
            (
                "what needs longer: --start-timeout SECONDS, or `timeout` in its stack.yaml or container.yaml",
                last_lines(process.log, process.tail()),
            )
        ).strip(),
    )


def _foreign(name: str, port: int, found: tuple[ports.Listener, ...]) -> StackStartError:
    who = ", ".join(str(listener) for listener in found)
    return StackStartError(
        f"{name} cannot have port {port}: {who} listens there",
        hint="stop that process, or leave `port` out of stack.yaml: then a free one is taken",
    )


def _words(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "its host name is not known"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
