"""`shard-elsewhere.json`: where tests of other shards lie, and so which fixtures are theirs too.

A shard cannot say of a fixture's recording that nobody uses it, where tests of another shard may: what they do with the
fixture, and what its teardown then calls, is seen only there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from stackproof.evidence import jsonfile

NAME = "shard-elsewhere.json"
_FIXTURE = "fixture:"


def write(cell_dir: Path, nodeids: Iterable[str]) -> None:
    """Write the folders, files and classes of these tests."""
    jsonfile.write(cell_dir / NAME, {"schema": 1, "places": sorted(places(nodeids))})


def read(cell_dir: Path) -> frozenset[str]:
    """The folders, files and classes of tests of other shards; none where nothing was divided."""
    return frozenset(jsonfile.strings(jsonfile.read(cell_dir / NAME) or {}, "places"))


def places(nodeids: Iterable[str]) -> set[str]:
    """Everything that such a test lies in, the empty name of the project included."""
    found: set[str] = set()
    for around in {nodeid.partition("[")[0].rpartition("::")[0] for nodeid in nodeids}:
        place = around
        while place not in found:
            found.add(place)
            place = place.rpartition("::")[0] if "::" in place else place.rpartition("/")[0]
    return found


def has(scope: str, there: Collection[str]) -> bool:
    """Whether the scope is of a fixture that tests in one of these places may use."""
    if not scope.startswith(_FIXTURE):
        return False
    base = scope.removeprefix(_FIXTURE).partition("[")[0].rpartition("::")[0]
    return (base if base != "." else "") in there
