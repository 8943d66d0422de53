"""`ci/expected/types.json`: type errors that a project has and bears for now. Their number may fall and not rise.

An error is known by its file, its code and its message, not by its line, which moves with every edit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.evidence import jsonfile
from stackproof.evidence.typecheck import Message

NAME = "types"
FILE = Path("ci/expected") / f"{NAME}.json"
SCHEMA = 1
# mypy names lines of the same file: Name "x" already defined on line 12.
_LINE = re.compile(r"\bline \d+")


@dataclass(frozen=True, kw_only=True, order=True)
class Accepted:
    """What makes two type errors the same. code: empty where mypy gives none."""

    file: str
    code: str
    message: str

    @classmethod
    def of(cls, error: Message) -> Accepted:
        """The kind of an error that mypy reported."""
        return cls(file=error.file, code=error.code or "", message=_LINE.sub("line …", error.message))


def load(project: Path) -> dict[Accepted, int]:
    """How many errors of each kind are accepted; empty without a file. UsageError when the file is something else."""
    if not (project / FILE).is_file():
        return {}
    data = jsonfile.read(project / FILE) or {}
    items = data.get("accepted") if data.get("schema") == SCHEMA else None
    found: dict[Accepted, int] = {}
    for item in items if isinstance(items, list) else (None,):
        match item:
            case {"file": str(file), "code": str(code), "message": str(message), "count": int(count)} if count > 0:
                found[Accepted(file=file, code=code, message=message)] = count
            case _:
                raise UsageError(
                    f"{FILE.as_posix()} is no list of accepted type errors",
                    hint="write it anew from a run that you have seen: stackproof policy update RUN --accept-types",
                )
    return found


def content(accepted: Mapping[Accepted, int]) -> dict[str, object]:
    """What the file holds, in a stable order."""
    items = [
        {"file": kind.file, "code": kind.code, "message": kind.message, "count": count}
        for kind, count in sorted(accepted.items())
    ]
    return {"schema": SCHEMA, "accepted": items}


def beyond(errors: Iterable[Message], accepted: Mapping[Accepted, int]) -> tuple[Message, ...]:
    """The errors that nobody accepted. Where there are more of a kind than accepted, it is the last of them."""
    left = Counter(accepted)
    found = []
    for error in errors:
        kind = Accepted.of(error)
        if left[kind] > 0:
            left[kind] -= 1
        else:
            found.append(error)
    return tuple(found)


def counted(errors: Iterable[Message]) -> dict[Accepted, int]:
    """How many errors of each kind there are."""
    return dict(Counter(map(Accepted.of, errors)))


def lowered(errors: Iterable[Message], accepted: Mapping[Accepted, int]) -> dict[Accepted, int]:
    """What may still be accepted after these errors: never more than before, and no more than there are."""
    there = counted(errors)
    fewer = {kind: min(count, there.get(kind, 0)) for kind, count in accepted.items()}
    return {kind: count for kind, count in fewer.items() if count}
