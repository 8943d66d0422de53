"""Whether a look-up can ever come to a file: its name and its folder follow from its content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stackproof.recorder import miss
from stackproof.recorder.identity import Identity, digest
from stackproof.recorder.scope import Scope
from stackproof.recorder.store import COMMON, MODELS, folder_of, parse_name
from stackproof.recordings.corpus import Entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Misplaced:
    """what: why no look-up comes here. right: where it would, below the recording directory; None where its content
    says something else than its name, and nobody knows which is meant.
    """

    what: str
    right: str | None


def misplaced(entry: Entry, integration_root: str) -> Misplaced | None:
    """Compare the name and the folder of an undamaged recording with its content; None where they agree."""
    if entry.content is None:
        return None
    request = digest(miss.form_of(entry.content["request"]))
    folder = PurePosixPath(entry.name).parent.relative_to(entry.setup).as_posix()
    name = entry.path.name
    if name.startswith(f"{MODELS}-"):
        return _models(entry, request, folder)
    parsed = parse_name(name)
    if parsed is None:
        return Misplaced(what="no look-up asks for a file of this name", right=None)
    scope = Scope(name=entry.scope)
    differs = [
        word
        for word, same in (
            ("scope", parsed.scope == scope.digest[:12]),
            ("request", parsed.request == request[:20]),
        )
        if not same
    ]
    if differs:
        return Misplaced(what=f"its name is not that of its {' and its '.join(differs)}", right=None)
    own = folder_of(entry.scope, integration_root)
    if folder in (own, COMMON):
        return None
    right = PurePosixPath(entry.setup, own, Identity(scope=scope.digest, request=request).file_name(parsed.ordinal))
    return Misplaced(what=f"its scope is looked up in {own} and {COMMON}, not in {folder}", right=right.as_posix())


def _models(entry: Entry, request: str, folder: str) -> Misplaced | None:
    if not entry.path.name.startswith(f"{MODELS}-{request[:20]}-"):
        return Misplaced(what="its name is not that of its request", right=None)
    if folder == COMMON:
        return None
    right = f"{entry.setup}/{COMMON}/{entry.path.name}"
    return Misplaced(what=f"lists of models are looked up in {COMMON}, not in {folder}", right=right)


def gap_before(entry: Entry, integration_root: str) -> int | None:
    """The number that is not there before this one, so that no run comes to it; None where it follows or is first."""
    parsed = parse_name(entry.path.name)
    if parsed is None or parsed.ordinal == 1 or entry.content is None:
        return None
    before = f"{parsed.scope}-{parsed.request}{f'-{parsed.ordinal - 1}' if parsed.ordinal > 2 else ''}.json"
    base = Path(entry.path.parents[len(PurePosixPath(entry.name).parts) - 1], entry.setup)
    folders = (entry.path.parent, base / folder_of(entry.scope, integration_root), base / COMMON)
    return None if any((folder / before).exists() for folder in folders) else parsed.ordinal - 1
