"""What can be wrong with recordings: the kinds, and one finding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What was found. The order of definition is that of summaries."""

    DAMAGED = "damaged"
    SECRET = "secret"  # noqa: S105 - a word, not a value
    MISPLACED = "misplaced"
    GAP = "gap"
    UNNORMALISED = "unnormalised"
    ORPHANED = "orphaned"
    ABANDONED = "abandoned"
    DELETED = "deleted"
    UNUSED = "unused"
    MISSING = "missing"
    STALE = "stale"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong.

    file: as a person in the project would type it; a test's node id where it is a recording that is not there. where:
    a place in the file, empty for all of it. action: what to do next, a command where there is one. fails: whether it
    makes a check fail by itself; what does not is said, and counts with `--strict`. test: whose it is, where that is
    known.
    """

    kind: Kind
    file: str
    what: str
    action: str
    where: str = ""
    fails: bool = True
    setup: str = ""
    test: str = ""

    def to_json(self) -> dict[str, Any]:
        """The facts for `--json`."""
        return {
            "kind": self.kind.value,
            "file": self.file,
            "what": self.what,
            "where": self.where,
            "next": self.action,
            "fails": self.fails,
            "setup": self.setup,
            "test": self.test,
        }
