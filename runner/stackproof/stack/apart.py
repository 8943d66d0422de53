"""A container that sees no folder of this machine: what it needs is put in, what it writes is brought out."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stackproof.errors import DockerError
from stackproof.plaintext import counted
from stackproof.stack import luggage
from stackproof.stack.engine import Engine
from stackproof.stack.kept import Kept
from stackproof.stack.luggage import Folder
from stackproof.stack.mirror import PROGRAM, Mirror
from stackproof.stack.received import Received

if TYPE_CHECKING:
    from stackproof.stack.container import Container

_NO_ROOM = "make room on both machines (`docker system df` says what the engine holds), then run again"


@dataclass(frozen=True, kw_only=True, slots=True)
class Baggage:
    """What goes in. owner: user and group id that the container runs as."""

    folders: Sequence[Folder]
    owner: tuple[int, int]

    def __str__(self) -> str:
        """As the run's log has it: `62 files, 1.2 MB`."""
        files = sum(len(folder.files) for folder in self.folders)
        return f"{counted(files, 'file')}, {sum(folder.size for folder in self.folders) / 1e6:.1f} MB"


class Apart:
    """What a container in which no folder of this machine is seen has in the place of that."""

    def __init__(
        self, engine: Engine, baggage: Baggage, *, cell_dir: Path, with_tests: bool = False, kept: Kept | None = None
    ) -> None:
        """with_tests: they are in there too, and see its files themselves. kept: for recordings that they keep."""
        self._engine, self._baggage = engine, baggage
        self._with_tests, self._kept = with_tests, kept
        self._cell_dir = cell_dir.absolute()
        self._received = Received(self._cell_dir)
        # Tests in there are judged there: what comes meanwhile is for the screen, and all of it comes at the end.
        self._mirror = Mirror(self._cell_dir, self._received, journals=with_tests)
        self._lost = ""

    def put(self, container: str) -> None:
        """Before the start: one archive, unpacked under the paths that its files have here."""
        try:
            archive = luggage.packed(self._baggage.folders, owner=self._baggage.owner)
        except OSError as error:
            raise DockerError(
                f"what container {container[:12]} needs cannot be packed: {error}", hint=_NO_ROOM
            ) from error
        with archive:
            self._engine.put(container, "/", archive)

    def watch(self, container: Container, python: str, guest: Path) -> None:
        """Once it runs: what it writes comes to this side from now on."""
        try:
            self._mirror.start(self._engine, container.id, python, guest / PROGRAM.name)
        except DockerError:
            if not self._with_tests and not container.ends():
                raise
            # It has ended already: whoever waits for it says how.

    def close(self) -> None:
        """Before it is told to end: its end is no failure from now on."""
        self._mirror.close()

    def bring(self, container: str) -> None:
        """After its end: what has not come yet. It fails later, in `require`: the container has to go first."""
        try:
            self._bring(container, self._cell_dir, self._received)
            if self._kept is not None:
                self._bring(container, self._kept.folder.absolute(), self._kept)
                if not self._lost:
                    self._kept.settle()
        except tarfile.TarError as error:
            self._lost = f"the archive of it is cut ({error})"
        except OSError as error:
            self._lost = f"it cannot be kept here: {error.strerror or error}"
        except DockerError as error:
            self._lost = error.message

    def _bring(self, container: str, folder: Path, into: luggage.Into) -> None:
        pieces = self._engine.get(container, str(folder))
        if pieces is None:
            self._lost = self._lost or "the container is gone"
        else:
            luggage.unpack(pieces, into)

    def require(self, name: str) -> None:
        """DockerError unless everything that the container wrote is here: what it called would not be known."""
        why = self._lost or ("" if self._with_tests else self._mirror.problem)
        if why:
            raise DockerError(
                f"not all that {name} wrote in its container came out of it: {why}",
                hint="what it called is not known, so the run proves nothing; once the cause is gone, run it again",
            )
