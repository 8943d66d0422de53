"""Where recordings belong, and the plan that brings them there: made as a whole before anything moves.

A plan names files only. What goes into them is made anew from the old file when the plan is carried out, so that it
does not matter how many there are.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import RecordingError
from stackproof.recorder import recording
from stackproof.recorder.identity import Identity, digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.recording import DamagedRecordingError, Recording
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import folder_of

_SHOWN = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """A file and where its new form goes: names below the recording directory, equal where only the content changes."""

    source: str
    target: str


# The new form of the file at `Move.source`.
Form = Callable[[Move, Recording], Recording]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`moves` are written; then every source that is nobody's target is removed, and so are those of `folded`.

    what: the command that this is, for somebody who finds it unfinished. folded: files whose new form is at the target
    already, by another file with an equal answer.
    """

    what: str
    moves: tuple[Move, ...]
    folded: tuple[Move, ...] = ()


class CollisionError(RecordingError):
    """Two different answers would have to be in one file."""


def place(setup: str, content: Recording, ordinal: int, integration_root: str) -> str:
    """Name below the recording directory at which look-up finds this recording first."""
    scope = str(content["scope"])
    folder = posixpath.normpath(posixpath.join(setup, folder_of(scope, integration_root)))
    return f"{folder}/{identity_of(content).file_name(ordinal)}"


def identity_of(content: Recording) -> Identity:
    """The two digests of a recording, from its content."""
    return Identity(scope=Scope(name=str(content["scope"])).digest, request=digest(form_of(content["request"])))


def settle(root: Path, what: str, moves: Iterable[Move], form: Form) -> Plan:
    """The plan of these moves. CollisionError names every target that another answer holds; then nothing may move."""
    wanted = {move.source: move for move in moves}
    first: dict[str, Move] = {}
    folded, collided = list[Move](), list[Move]()
    for move in sorted(wanted.values(), key=lambda move: (move.source != move.target, move.source)):
        occupied = move.target not in wanted and (root / move.target).exists()
        before = first.get(move.target)
        if before is None and not occupied:
            first[move.target] = move
            continue
        ours = _made(root, move, form)
        theirs = _made(root, before, form) if before is not None else _read(root / move.target)
        equal = ours is not None and theirs is not None and recording.is_equal(ours, theirs)
        (folded if equal else collided).append(move)
    if collided:
        raise _collision(root, collided)
    return Plan(what=what, moves=tuple(first.values()), folded=tuple(folded))


def _made(root: Path, move: Move, form: Form) -> Recording | None:
    content = _read(root / move.source)
    return None if content is None else form(move, content)


def _read(path: Path) -> Recording | None:
    try:
        return recording.read(str(path))
    except DamagedRecordingError:
        return None


def _collision(root: Path, collided: list[Move]) -> CollisionError:
    shown = [f"{root.name}/{move.source} would become {root.name}/{move.target}" for move in collided[:_SHOWN]]
    more = [f"and {len(collided) - _SHOWN} more"] if len(collided) > _SHOWN else []
    several = f"{len(collided)} files" if len(collided) > 1 else "a file"
    return CollisionError(
        f"nothing was moved: {several} would take the place of another answer",
        hint="\n".join(
            [*shown, *more, "`stackproof recordings diff` shows how two of them differ; remove the one that is old"]
        ),
    )
