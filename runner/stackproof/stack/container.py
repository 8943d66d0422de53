"""A container: started, watched, followed to a file, and gone afterwards."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from stackproof.errors import DockerError, StackStartError
from stackproof.stack import enter, lifetime, seen, sharing
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec, ContainerState
from stackproof.stack.process import TAIL_LINES, describe_exit, tail

_LOOK = 0.1  # seconds between two looks at a container
_FOLLOWED = 30.0  # seconds that the last of a log may take to come
_ENDING = 5.0  # seconds that the engine may take to say that it has ended
# Docker's words for a mount of a folder that its machine does not have, and Podman's.
_NO_SUCH_FOLDER = ("bind source path does not exist", "statfs")


class Container:
    """A container as `readiness` watches a process: `poll`, `ending`, `tail`, its log in a file from the first byte."""

    def __init__(
        self,
        engine: Engine,
        spec: ContainerSpec,
        *,
        name: str,
        log: Path,
        shown: bool = False,
        before: Callable[[str], None] | None = None,
        after: Callable[[str], None] | None = None,
    ) -> None:
        """before, after: called with its id once it is made and not started, and once it has ended and is not gone."""
        self._shown = shown
        self._before, self._after = before, after
        self.name = name
        self.log: Path | None = log
        self._written = log
        self.started_at = 0.0
        self._engine, self._spec = engine, spec
        self._id = ""
        self._state: ContainerState | None = None
        self._looked_at = 0.0
        self._ended_at: float | None = None
        self._follower: threading.Thread | None = None

    def start(
        self, given: Mapping[str, str], python: str, *, shut: str | None = None, folders: Sequence[Path] = ()
    ) -> None:
        """Make it, start it, follow its log, and give it its variables; StackStartError when it takes none.

        shut: the word of `enter` that takes the ways out away before its program runs. folders: the run's, which it has
        to write, and that of recordings, which it has to read; DockerError when it cannot.
        """
        self.launch()
        script = self._spec.command[1]
        code = 1
        with suppress(DockerError):  # it has ended already: `poll` says how
            # One call for both: it takes as long as the start of a Python.
            first = () if shut is None else (shut, self._spec.user or "0:0")
            command = [python, "-I", "-S", script, *first, "give", *map(str, folders)]
            code = self._engine.run_inside(
                self._id, command, given=json.dumps(dict(given)).encode(), as_root=shut is not None
            )
        if folders and code in (enter.NOT_WRITABLE, enter.NOT_READABLE):
            run_dir, recordings = folders
            wrong = f"write {run_dir}" if code == enter.NOT_WRITABLE else f"read the recordings in {recordings}"
            raise DockerError(
                f"{self.name} cannot {wrong}: its container runs as user {self._spec.user}",
                hint="give that user the right to it and to the folders above; "
                f"with {sharing.VARIABLE}=copy the files are copied into the container and out of it",
            )
        if code != 0 and not self.ends():
            raise StackStartError(
                f"{self.name} did not take its variables: `{python} {script} give` exited with code {code}",
                hint=f"the image needs a {python} of version 3.11 or newer",
            )

    def launch(self) -> str:
        """Make it, start it and follow its log; its id."""
        self._state = self._ended_at = None
        try:
            self._id = self._engine.create(self._spec)
        except DockerError as error:
            if self._spec.mounts and any(words in error.message for words in _NO_SUCH_FOLDER):
                why = f"{self._spec.mounts[0].source} is not there"
                raise seen.NotSeenError(error.message, why=why, hint=error.hint) from error
            raise
        if self._before is not None:
            self._before(self._id)
        self.started_at = time.monotonic()
        self._engine.start(self._id)
        self._follower = threading.Thread(target=self._follow, name=f"log of {self.name}", daemon=True)
        self._follower.start()
        return self._id

    def adopt(self) -> None:
        """Go on with one that is there, under the name of its spec."""
        self._id, self.started_at = self._spec.name, time.monotonic()

    @property
    def id(self) -> str:
        """The engine's name for it; empty before it was made."""
        return self._id

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        state = self._look()
        if state is None:
            return 1  # somebody removed it
        if state.code is not None and self._ended_at is None:
            self._ended_at = time.monotonic()
        return state.code

    def ends(self) -> bool:
        """Whether it has ended, or does within seconds.

        A program that ends at once takes an exec with it, before the engine says that it has ended itself.
        """
        deadline = time.monotonic() + _ENDING
        while self.poll() is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK)
        return True

    def elapsed(self) -> float:
        """Seconds from the start to now, or to the moment its end was noticed."""
        return (self._ended_at or time.monotonic()) - self.started_at

    def ending(self) -> str:
        """How it ended, in words."""
        state = self._look()
        if state is None:
            return "was removed by somebody"
        if state.out_of_memory:
            return "was ended by the engine: it ran out of memory"
        return describe_exit(state.code) if not state.error else f"{describe_exit(state.code)} ({state.error})"

    def tail(self, lines: int = TAIL_LINES) -> tuple[str, ...]:
        """The last lines of its log that hold anything."""
        if self._ended_at is not None and self._follower is not None:
            self._follower.join(timeout=_FOLLOWED)
        return tail(self._written, lines)

    def address(self, network: str) -> str | None:
        """Its address in a network, once it has one."""
        state = self._look(fresh=True)
        return None if state is None else state.addresses.get(network)

    def signal(self, signum: int) -> None:
        """Send its program a signal; nothing happens when it is gone."""
        if self._id:
            with suppress(DockerError):
                self._engine.signal(self._id, signum)

    def stop(self, grace: float = lifetime.GRACE) -> None:
        """End it, with its log complete, and remove it. Safe to call again, and before the start."""
        try:
            if self._id:
                self._engine.stop(self._id, grace)
                if self._follower is not None:
                    self._follower.join(timeout=_FOLLOWED)
                after, self._after = self._after, None
                if after is not None:
                    after(self._id)
        finally:
            # By name: an answer of the engine that got lost must not leave it behind.
            self._engine.remove(self._spec.name)

    def _look(self, *, fresh: bool = False) -> ContainerState | None:
        now = time.monotonic()
        if fresh or self._state is None or (self._state.code is None and now - self._looked_at > _LOOK):
            self._state, self._looked_at = self._engine.state(self._id), now
        return self._state

    def _follow(self) -> None:
        with self._written.open("ab", buffering=0) as file, suppress(DockerError):
            for piece in self._engine.logs(self._id):
                file.write(piece)
                if self._shown:
                    sys.stdout.buffer.write(piece)
                    sys.stdout.flush()
