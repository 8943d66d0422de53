"""Keeps this side's files of a run in step with what a stack writes in a container that does not see them.

A program beside the stack (`mirror_inside`) is asked a few times a second, and at once when a test's teardown asks for
it (`recorder.elsewhere`). It is told what the tests' side made for the stack: ended scopes, scopes too long for a
header, and planned faults.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.errors import DockerError
from stackproof.evidence import jsonfile
from stackproof.recorder import elsewhere
from stackproof.stack import mirror_inside
from stackproof.stack.conversation import Conversation, EndedError
from stackproof.stack.engine import Engine
from stackproof.stack.received import Received

PROGRAM = Path(mirror_inside.__file__)
_STEP = 0.005  # seconds between two looks for a test that asks
_UNASKED = 0.2
_SILENT = 60.0
_GIVEN = ("ended", "faults", "scopes")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A test's teardown waits, until `deadline` for requests that are served and then `calls` seconds for calls."""

    token: Path
    scope: str
    serving_until: float
    inflight_until: float


class Mirror:
    """Runs in a thread of its own from `start` to `close`. problem: why it ended before, for a person, else empty."""

    def __init__(self, cell_dir: Path, received: Received, *, journals: bool = False) -> None:
        """journals: nothing else is told, whatever else is written there."""
        self.problem = ""
        self._journals = journals
        self._cell_dir, self._received = cell_dir, received
        self._asks = cell_dir / elsewhere.FOLDER
        self._asks.mkdir(exist_ok=True)
        self._given: set[str] = set()
        self._pending: dict[Path, _Asked] = {}
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._way: Conversation | None = None

    def start(self, engine: Engine, container: str, python: str, program: Path) -> None:
        """Begin; DockerError when the program beside the stack does not answer."""
        command = [python, str(program), str(self._cell_dir.absolute()), *([mirror_inside.JOURNALS] * self._journals)]
        self._way = engine.converse(container, command, silent=_SILENT)
        try:
            self._step(self._way)
        except (EndedError, ValueError) as error:
            # Of a container that has ended the engine says so where the answer would be.
            self._way.close()
            raise DockerError(
                f"what the stack writes cannot be read out of its container: {error}",
                hint=f"`{python} {program.name}` runs there for it; it needs Python 3.11",
            ) from error
        self._thread = threading.Thread(target=self._run, args=(self._way,), name="stackproof-mirror", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it: whoever still asks is told that nobody answers any more."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=_SILENT)
        if self._way is not None:
            self._way.close()

    def _run(self, way: Conversation) -> None:
        asked_at = time.monotonic()
        try:
            while not self._ending.wait(_STEP):
                self._look()
                if self._pending or time.monotonic() - asked_at > _UNASKED:
                    asked_at = time.monotonic()
                    self._answer(self._step(way))
            self.problem = "the stack is being stopped"
        except EndedError as error:
            self.problem = str(error)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            stopped = self._ending.is_set()
            told = f"what the stack calls cannot be read out of its container: {self.problem}"
            with contextlib.suppress(OSError):  # whoever asks runs into the deadline then, and fails with it
                jsonfile.write_text(self._asks / elsewhere.PROBLEM, told)
            self.problem = "" if stopped else told

    def _look(self) -> None:
        """Which tests ask now."""
        now = time.monotonic()
        for path in self._asks.glob(f"*{elsewhere.ASK}"):
            if path not in self._pending and (facts := jsonfile.read(path)) is not None:
                serving_until = now + float(facts["serving"])
                self._pending[path] = _Asked(
                    token=path.with_suffix(""),
                    scope=str(facts["scope"]),
                    serving_until=serving_until,
                    inflight_until=serving_until + float(facts["inflight"]),
                )

    def _answer(self, busy: Mapping[str, Any]) -> None:
        """Answer those for whom nothing is busy any more, or whose time is over."""
        now = time.monotonic()
        for path, asked in list(self._pending.items()):
            in_flight = int(busy["inflight"].get(asked.scope, 0))
            if (busy["serving"].get(asked.scope) and now < asked.serving_until) or (
                in_flight and now < asked.inflight_until
            ):
                continue
            del self._pending[path]
            path.unlink(missing_ok=True)
            jsonfile.write(asked.token.with_suffix(elsewhere.TOLD), {"in_flight": in_flight})

    def _step(self, way: Conversation) -> Mapping[str, Any]:
        """Give and take once; what was busy before anything was taken."""
        put = {name: path.read_text(encoding="utf-8") for name, path in self._to_give()}
        way.send(json.dumps({"put": put}).encode())
        self._given |= put.keys()
        said = json.loads(way.line())
        for name, offset, size in said["files"]:
            data = way.read(int(size))
            if offset is None:
                self._received.whole(str(name), data)
            else:
                self._received.grown(str(name), int(offset), data)
        busy: Mapping[str, Any] = said["busy"]
        return busy

    def _to_give(self) -> list[tuple[str, Path]]:
        found = []
        for folder in _GIVEN:
            for path in (self._cell_dir / folder).glob("*"):
                name = f"{folder}/{path.name}"
                if name not in self._given and not path.name.endswith(".tmp"):
                    found.append((name, path))
        return found
