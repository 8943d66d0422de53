"""Waits until a command in a container says, by its exit code, that the container is ready."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Sequence

from stackproof.errors import DockerError, StackStartError
from stackproof.plaintext import number
from stackproof.stack.container import Container
from stackproof.stack.engine import Engine
from stackproof.stack.process import last_lines

_STEP = 0.05
_APART = 0.1  # seconds from one answer to the next question


def wait(
    container: Container, command: Sequence[str], engine: Engine, timeout: float, check: Callable[[], None]
) -> None:
    """Ask until the command exits with 0; StackStartError after `timeout` seconds, or when the container has ended.

    check: called every 0.05 s, raises to end the wait.
    """
    deadline = container.started_at + timeout
    said = "was not answered"
    while True:
        question = _Question(engine, container.id, command)
        while not question.done.wait(_STEP):
            check()
            _still_running(container)
            if time.monotonic() >= deadline:
                raise _not_ready(container, command, said, timeout)
        _still_running(container)
        if question.code == 0:
            return
        said = question.problem or f"exited with code {question.code}"
        if time.monotonic() >= deadline:
            raise _not_ready(container, command, said, timeout)
        check()
        time.sleep(_APART)


class _Question:
    """One question in a thread, so that a command which never ends does not hide that its container did."""

    def __init__(self, engine: Engine, container: str, command: Sequence[str]) -> None:
        self.done = threading.Event()
        self.code: int | None = None
        self.problem = ""
        self._engine, self._container, self._command = engine, container, command
        threading.Thread(target=self._run, name="stackproof-question", daemon=True).start()

    def _run(self) -> None:
        try:
            self.code = self._engine.run_inside(self._container, self._command)
        except DockerError as error:
            self.problem = f"could not be asked ({error.message})"
        finally:
            self.done.set()


def _still_running(container: Container) -> None:
    if container.poll() is not None:
        raise StackStartError(
            f"{container.name} {container.ending()} after {container.elapsed():.1f} s, before it was ready",
            hint=last_lines(container.log, container.tail()),
        )


def _not_ready(container: Container, command: Sequence[str], said: str, timeout: float) -> StackStartError:
    return StackStartError(
        f"{container.name} is not ready: `{shlex.join(command)}` in it {said}, after {number(timeout)} s",
        hint="\n".join(
            (
                "one that needs longer: --start-timeout SECONDS, or `timeout` of `readiness` in its container.yaml",
                last_lines(container.log, container.tail()),
            )
        ).strip(),
    )
