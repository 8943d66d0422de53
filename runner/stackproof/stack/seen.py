"""Whether a container sees this machine's folders, and this machine reaches it: tried on the container itself."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from stackproof.errors import DockerError
from stackproof.stack import luggage, place, sharing
from stackproof.stack.apart import Apart, Baggage
from stackproof.stack.kept import Kept
from stackproof.stack.luggage import Folder
from stackproof.stack.mirror import PROGRAM
from stackproof.stack.place import Place

if TYPE_CHECKING:
    from stackproof.stack.container import Container

_NONCE = "nonce"


@dataclass(frozen=True, kw_only=True, slots=True)
class Together:
    """What goes in beside the guest's folder where tests run in the container too. kept: for recordings they keep."""

    folders: Callable[[], Sequence[Folder]]
    kept: Callable[[], Kept] | None


def started(
    start: Callable[[Apart | None, ExitStack], Container],
    where: Place,
    undo: ExitStack,
    *,
    guest: Path,
    recordings: Folder,
    tests: Together | None = None,
    no_copies: DockerError | None = None,
    say: Callable[[str], None],
) -> tuple[Container, Apart | None]:
    """The container, started with this machine's folders in it, or with copies where the engine does not show them.

    start: makes it, has `undo` end it, and starts it; it gets what carries the copies, or None. no_copies: raised where
    copies would be needed and cannot do.
    """
    why = where.sharing.why
    if where.sharing.folders is not False:
        with ExitStack() as trying:
            try:
                container = start(None, trying)
            except NotSeenError as error:
                if where.sharing.folders:
                    raise
                why = error.why
            else:
                undo.push(trying.pop_all())
                return container, None
    if no_copies is not None:
        raise no_copies
    copyfile(PROGRAM, guest / PROGRAM.name)
    place.shared(recordings.path)
    cell_dir = guest.parent
    baggage = Baggage(
        folders=(
            *(tests.folders() if tests is not None else ()),
            # The folder itself too: the engine would give one that it has to make to root.
            Folder(path=cell_dir.absolute(), files=()),
            luggage.everything(guest),
            recordings,
        ),
        owner=place.ids(where.engine),
    )
    say(f"the Docker engine at {where.engine.endpoint} sees no folders of this machine ({why}): {baggage} are copied")
    kept = tests.kept() if tests is not None and tests.kept is not None else None
    apart = Apart(where.engine, baggage, cell_dir=cell_dir, with_tests=tests is not None, kept=kept)
    container = start(apart, undo)
    undo.callback(apart.close)
    return container, apart


class NotSeenError(DockerError):
    """A container that was made does not see a folder of this machine; it was not started. why: in a few words."""

    def __init__(self, message: str, *, why: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.why = why or message


def required(where: Place, guest: Path) -> Callable[[str], None] | None:
    """What a container that was made has to pass before it is started; None where nothing needs to be proved."""
    if not where.sharing.proof:
        return None
    nonce = guest / _NONCE
    nonce.write_text(secrets.token_hex(16), encoding="ascii")

    def require(container: str) -> None:
        found = where.engine.get(container, str(nonce))
        if found is None or luggage.only_file(found) != nonce.read_bytes():
            raise NotSeenError(
                f"containers do not see what is in {guest} here",
                hint="STACKPROOF_DOCKER_SHARING=copy copies files into containers and out of them",
            )

    return require


def reached(where: Place, address: str, port: int) -> bool:
    """Whether a container's address can be reached from here."""
    if where.sharing.addresses is not None:
        return where.sharing.addresses
    return sharing.reachable(address, port)
