"""Which file somebody means: by path, by name, or by the first digits of its name or of its request's digest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.recordings import corpus
from stackproof.recordings.corpus import Entry
from stackproof.suggest import nearest

_PREFIX = re.compile(r"(?P<first>[0-9a-f]{3,20})(?:-(?P<second>[0-9a-f]*))?(?:-(?P<ordinal>\d+))?")
_LISTED = 8


def one(word: str, root: Path, project: Path) -> Path:
    """The file that `word` means: a path, a name below `root`, or a prefix.

    A prefix is the first digits of a file's name, of its request's digest (`910b6ed`), or of both (`7fbe5a-910b6e`).
    UsageError when there is none, naming the nearest, or when there are several, listing them.
    """
    direct = (project / word, root / word)
    for path in direct:
        if path.is_file():
            return path
    for path in direct:
        if path.is_dir():
            raise UsageError(
                f"{word} is a folder, not a recording", hint="`stackproof recordings list` lists what is in it"
            )
    found = list(_matching(word, root))
    if len(found) == 1:
        return found[0]
    if found:
        listed = [path.relative_to(root).as_posix() for path in found[:_LISTED]]
        more = [f"and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
        raise UsageError(f"{word!r} may be any of {len(found)} recordings", hint="\n".join([*listed, *more]))
    raise UsageError(
        f"there is no recording {word!r}{_nearest(word, root)}",
        hint=f"recordings lie in {root.name}/; `stackproof recordings list` lists them",
    )


def load(path: Path, root: Path, shown: str) -> Entry:
    """The recording at `path`, wherever it lies. UsageError, which names it as `shown`, when the file is none."""
    entry = corpus.read(path, root if path.is_relative_to(root) else path.parent)
    if entry.content is None:
        raise UsageError(
            f"{shown} {entry.damage}", hint="a recording is a file that a run with --inference-mode record wrote"
        )
    return entry


def _matching(word: str, root: Path) -> Iterator[Path]:
    name = Path(word).name
    prefix = _PREFIX.fullmatch(name.removesuffix(".json"))
    for path in corpus.paths(root):
        if path.name in (name, f"{name}.json") or (prefix and _fits(path.stem, prefix)):
            yield path


def _fits(stem: str, prefix: re.Match[str]) -> bool:
    scope, _, request = stem.partition("-")
    first, second, ordinal = prefix["first"], prefix["second"], prefix["ordinal"]
    if second is None:
        return scope.startswith(first) or request.startswith(first)
    digits, _, number = request.partition("-")
    if not (scope.startswith(first) and digits.startswith(second)):
        return False
    # Without a number the first of equal requests is meant, once the whole digest stands there.
    return number == (ordinal or "") if ordinal or digits == second else True


def _nearest(word: str, root: Path) -> str:
    name = nearest(Path(word).name, (path.name for path in corpus.paths(root)), cutoff=0.5)
    return "" if name is None else f", did you mean {name}?"
