"""The stack of one cell as a process in a container that is there for several cells."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import copyfile

from stackproof.errors import StackStartError
from stackproof.evidence import jsonfile
from stackproof.stack import lifetime, supervise
from stackproof.stack.container import Container
from stackproof.stack.conversation import Conversation, EndedError
from stackproof.stack.engine import Engine
from stackproof.stack.process import TAIL_LINES, describe_exit, tail

PROGRAM = Path(supervise.__file__)
_SILENT = 60.0  # seconds that the program beside the stack may take for an answer


class GuestProcess:
    """A process in `container` as `readiness` watches it. log: file that it writes to, which the container sees too."""

    def __init__(self, engine: Engine, container: Container, *, name: str, guest: Path, log: Path) -> None:
        """guest: folder of the cell with the programs for it, `enter.py` among them; the container sees it."""
        self.name = name
        self.log: Path | None = log
        self.started_at = 0.0
        self.left: tuple[str, ...] = ("a process that was not started",)
        self.started = False
        self._engine, self._container = engine, container
        self._guest, self._log = guest, log
        self._way: Conversation | None = None
        self._told = False
        self._ended: Mapping[str, object] | None = None
        self._ended_at: float | None = None

    def start(self, command: Sequence[str], given: Mapping[str, str], python: str, enter: Path, *, look: bool) -> None:
        """Start it with `given` for its variables; StackStartError when the program beside it cannot.

        look: whether files that it changes in the container are looked for at its end.
        """
        program = self._guest / PROGRAM.name
        copyfile(PROGRAM, program)
        self.started_at = time.monotonic()
        line = [python, "-I", "-S", str(program), str(enter), str(self._guest), "--", *command]
        self._way = self._engine.converse(self._container.id, line, silent=_SILENT)
        try:
            asked = {"variables": dict(given), "log": str(self._log.absolute()), "look": look}
            self._way.send(json.dumps(asked).encode())
            self._way.line()
            self.started = True
        except EndedError as error:
            raise StackStartError(
                f"{self.name} was not started in its container: {error}",
                hint=f"`{python} {program.name}` runs there for it; it needs Python 3.11",
            ) from error

    def poll(self) -> int | None:
        """Exit code as `subprocess` gives it, or that of the container; None while it runs."""
        if self._ended is None and (found := jsonfile.read(self._guest / supervise.ENDED)) is not None:
            self._ended, self._ended_at = found, time.monotonic()
        if self._ended is not None:
            return int(str(self._ended["code"]))
        code = self._container.poll()
        if code is not None and self._ended_at is None:
            self._ended_at = time.monotonic()
        return code

    def elapsed(self) -> float:
        """Seconds from the start to now, or to the moment its end was noticed."""
        return (self._ended_at or time.monotonic()) - self.started_at

    def ending(self) -> str:
        """How it ended, in words."""
        code = self.poll()
        if self._ended is None:
            return self._container.ending()
        if self._ended.get("out_of_memory"):
            return "was ended by the engine: it ran out of memory"
        return describe_exit(code)

    def tail(self, lines: int = TAIL_LINES) -> tuple[str, ...]:
        """The last lines of its log that hold anything."""
        return tail(self._log, lines)

    def signal(self, signum: int) -> None:
        """Ask it to end, as `stop` does, and do not wait for it. signum: SIGTERM; no other can be sent."""
        if signum == signal.SIGTERM:
            self._tell(lifetime.GRACE)

    def _tell(self, grace: float) -> None:
        if self._way is not None and not self._told:
            self._told = True
            with suppress(EndedError):  # the answer does not come then
                self._way.send(json.dumps({"stop": grace}).encode())

    def stop(self, grace: float = lifetime.GRACE) -> None:
        """End it, and all that it started. `left` then names what could not be ended or removed. Safe to call again."""
        self._tell(grace)
        way, self._way = self._way, None
        if way is None:
            return
        self.left = ("the way into the container broke",)
        try:
            self.left = tuple(map(str, json.loads(way.line())["left"]))
        except (EndedError, ValueError, KeyError) as error:
            self.left = (str(error),)
        finally:
            way.close()
