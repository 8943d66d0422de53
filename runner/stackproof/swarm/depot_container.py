"""The depot's container, beside the manager of the swarm: filled, started, followed, asked for results, and gone."""

from __future__ import annotations

import io
import json
import queue
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, Any

from stackproof.errors import DockerError
from stackproof.stack import enter
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ContainerSpec
from stackproof.swarm import delivery, depot

_FOLDER = "/depot"
_OPENS = 60.0  # seconds
_STEP = 0.05
_SILENT = 4 * depot.ALIVE  # seconds
_AGAIN = 1.0  # seconds until a log is asked for once more
ALIAS = "stackproof-depot"


class DepotContainer:
    """One depot. name: that no other container has."""

    def __init__(self, engine: Engine, *, name: str, image: str, python: str, network: str) -> None:
        self._engine, self.name, self._image, self._python = engine, name, image, python
        self._network = network
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._over = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="log of the depot", daemon=True)
        self._id = ""

    @property
    def url(self) -> str:
        """Where tasks ask."""
        return f"http://{ALIAS}:{depot.PORT}"

    def start(
        self, archive: IO[bytes], *, token: str, pieces: int, labels: Mapping[str, str], check: Callable[[], None]
    ) -> None:
        """Make it, put the archive in, give it the token, and wait until it serves; DockerError where it does not."""
        program, python = f"{_FOLDER}/depot.py", self._python
        self._id = self._engine.create(
            ContainerSpec(
                name=self.name,
                image=self._image,
                entrypoint=(),
                command=(python, "-I", "-S", program, _FOLDER, str(depot.PORT), str(pieces)),
                labels=labels,
                user="0:0",
                network=self._network,
                aliases=(ALIAS,),
                tmpfs=(enter.FOLDER,),
                own_log=True,
            )
        )
        with _packed(archive) as put:
            self._engine.put(self._id, "/", put)
        self._engine.start(self._id)
        self._follower.start()
        give = (python, "-I", "-S", f"{_FOLDER}/enter.py", "give")
        with suppress(DockerError):  # it has ended already: that is said below
            self._engine.run_inside(self._id, give, given=json.dumps({"token": token}).encode())
        self._opens(check)

    def events(self) -> Iterator[dict[str, Any]]:
        """What it has told since the last time."""
        with suppress(queue.Empty):
            while True:
                yield self._events.get_nowait()

    def require(self) -> None:
        """DockerError where it has ended: nobody takes the results of the tasks any more."""
        state = self._engine.state(self._id)
        if state is None or not state.running:
            how = "was removed by somebody" if state is None else f"ended with exit code {state.code}"
            raise DockerError(
                f"the container that takes in what the shards deliver, {self.name}, {how}",
                hint="the engine's own log may say why; run again",
            )

    def fetch(self, piece: int) -> AbstractContextManager[IO[bytes]]:
        """The result of a piece; DockerError where it does not come out, tarfile.TarError where it comes cut."""
        pieces = self._engine.get(self._id, f"{_FOLDER}/results/{piece}.tar")
        if pieces is None:
            raise DockerError(
                f"the container that takes in what the shards deliver, {self.name}, has lost a result",
                hint="was it restarted? run again",
            )
        return delivery.inner(pieces)

    def stop(self) -> None:
        """Remove it. Safe to call again, and before the start."""
        self._over.set()
        self._engine.remove(self.name)
        if self._follower.is_alive():
            self._follower.join(timeout=30.0)

    def _opens(self, check: Callable[[], None]) -> None:
        deadline = time.monotonic() + _OPENS
        while time.monotonic() < deadline:
            check()
            with suppress(queue.Empty):
                if self._events.get(timeout=_STEP).get("event") == "open":
                    return
            self.require()
        raise DockerError(
            f"the container that takes in what the shards deliver, {self.name}, did not begin within {_OPENS:.0f} s",
            hint="the engine's own log may say why; run again",
        )

    def _follow(self) -> None:
        """Its log from the first byte to the last; asked for again where that breaks off while it runs."""
        taken, rest = 0, b""
        while not self._over.is_set():
            passed = 0
            with suppress(DockerError):
                for data in self._engine.followed(self._id, silent=_SILENT, check=self._ends):
                    # What was taken before the log broke off comes once more.
                    new = data[max(0, taken - passed) :]
                    passed += len(data)
                    taken = max(taken, passed)
                    *lines, rest = (rest + new).split(b"\n")
                    for line in lines:
                        self._note(line)
            self._over.wait(_AGAIN)

    def _ends(self) -> None:
        if self._over.is_set():
            raise DockerError("nobody listens any more")

    def _note(self, line: bytes) -> None:
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                self._events.put(event)


def _packed(archive: IO[bytes]) -> IO[bytes]:
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=8 << 20)  # noqa: SIM115 - the caller closes it
    with tarfile.open(fileobj=spool, mode="w", format=tarfile.PAX_FORMAT) as outer:
        for source in (depot.__file__, enter.__file__):
            data = Path(source).read_bytes()
            outer.addfile(_entry(Path(source).name, len(data)), io.BytesIO(data))
        size = archive.seek(0, io.SEEK_END)
        archive.seek(0)
        outer.addfile(_entry("archive.tar", size), archive)
    spool.seek(0)
    return spool


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(f"{_FOLDER.lstrip('/')}/{name}")
    entry.size, entry.mode = size, 0o644
    return entry
