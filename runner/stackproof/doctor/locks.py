"""Who holds a lock of ours at this moment, as Linux says it: a lock that nobody holds is a file like any other.

/proc/locks has a line for each, `1: FLOCK ADVISORY WRITE 4711 fe:00:1941692 0 EOF` (proc_locks(5)).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_TABLE = Path("/proc/locks")
_NAMES = ("services/*/lock", "wheels/*/lock", "*/lock", "*/*.lock")


def held(cache: Path, table: Path = _TABLE) -> Iterator[tuple[Path, int]]:
    """The lock files below our folder of the cache that a process holds, and its id; none where nothing tells."""
    try:
        rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()]
    except OSError:
        return
    holders = {row[5].rpartition(":")[2]: row[4] for row in rows if len(row) > 5 and row[1] == "FLOCK"}
    for path in sorted({path for name in _NAMES for path in cache.glob(name)}):
        try:
            holder = holders.get(str(path.stat().st_ino))
        except OSError:
            continue
        if holder is not None and holder.isdigit():
            yield path, int(holder)
