"""`shard-order.json`: what pytest's plugin is told of the division, wherever it runs.

It lies in the cell's folder, which a container sees or is given; nothing in it is secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stackproof.errors import StackproofError
from stackproof.evidence import jsonfile, nodeids
from stackproof.shards.records import Shard

NAME = "shard-order.json"
SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardOrder:
    """whole: the id of the cell that is divided. together: as `--together`. seconds: by node id. rows: seconds by the
    two names of a JUnit report, as `evidence.nodeids.row_key`, for tests that `seconds` has not.
    """

    shard: Shard
    whole: str
    together: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)

    def seconds_of(self, tests: Sequence[str]) -> dict[str, float]:
        """What is known of these node ids."""
        found = {test: self.seconds[test] for test in tests if test in self.seconds}
        if self.rows:
            lacking = {test: self.rows.get(nodeids.row_key(test)) for test in tests if test not in found}
            found |= {test: seconds for test, seconds in lacking.items() if seconds is not None}
        return found


def write(cell_dir: Path, order: ShardOrder) -> None:
    """Write it."""
    jsonfile.write(
        cell_dir / NAME,
        {
            "schema": SCHEMA,
            "index": order.shard.index,
            "total": order.shard.total,
            "whole": order.whole,
            "together": list(order.together),
            "seconds": dict(order.seconds),
            "rows": dict(order.rows),
        },
    )


def read(cell_dir: Path) -> ShardOrder | None:
    """What `write` wrote, None where nothing is to be divided; StackproofError when it is something else."""
    path = cell_dir / NAME
    if not path.is_file():
        return None
    data = jsonfile.read(path)
    if data is None or data.get("schema") != SCHEMA:
        raise StackproofError(
            f"{path} is damaged or was written by another version of Stackproof",
            hint="have one version for the tests and the run, and start the run again",
        )
    return ShardOrder(
        shard=Shard(index=int(data["index"]), total=int(data["total"])),
        whole=str(data["whole"]),
        together=jsonfile.strings(data, "together"),
        seconds={name: float(value) for name, value in jsonfile.table(data, "seconds").items()},
        rows={name: float(value) for name, value in jsonfile.table(data, "rows").items()},
    )
