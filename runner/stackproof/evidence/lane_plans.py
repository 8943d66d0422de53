"""What the shards of a lane say of the plan that they went by: which of them are missing, and whether it was one plan.

It decides nothing. What no shard ran is found missing where it is weighed, and what two ran is found there, too; this
says how that came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackproof.evidence import jsonfile
from stackproof.shards.records import MOST

_NAMED = 20  # shards
_SHOWN = 12  # digits of a digest


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class _Shard:
    index: int
    plan: str
    folder: str
    in_use: int


def notes(folders: Iterable[tuple[str, Path]]) -> Iterator[str]:
    """One sentence for each lane of which a shard is missing, or whose shards went by several plans.

    folders: run folders, by the names that people know them by.
    """
    lanes: dict[tuple[str, int], list[_Shard]] = {}
    for name, path in folders:
        plan = jsonfile.read(path / "plan.json") or {}
        lane, digest, shard = jsonfile.text(plan, "lane"), jsonfile.text(plan, "plan_digest"), _shard(plan)
        if lane is not None and digest is not None and shard is not None:
            index, total = shard
            # Where there are fewer pieces than shards, the last ones have none, and no job has to be made for them.
            used = jsonfile.number(plan, "in_use")
            lanes.setdefault((lane, total), []).append(
                _Shard(index=index, plan=digest, folder=name, in_use=total if used is None else min(used, total))
            )
    for (lane, total), shards in sorted(lanes.items()):
        there = {each.index for each in shards}
        used = max(each.in_use for each in shards)
        if missing := [index for index in range(1, used + 1) if index not in there]:
            named = ", ".join(f"{index}/{total}" for index in missing[:_NAMED])
            more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
            yield f"of lane {lane} no folder is of shard {named}{more}"
        plans: dict[str, _Shard] = {}
        for each in sorted(shards):
            plans.setdefault(each.plan, each)
        if len(plans) > 1:
            told = "; ".join(
                f"{each.index}/{total} in {each.folder} by {each.plan[:_SHOWN]}"
                for each in list(plans.values())[:_NAMED]
            )
            yield f"shards of lane {lane} went by different plans, so something may have run twice or never: {told}"


def _shard(plan: dict[str, object]) -> tuple[int, int] | None:
    data = jsonfile.table(plan, "shard")
    index, total = jsonfile.number(data, "index"), jsonfile.number(data, "total")
    return None if index is None or total is None or not 1 <= index <= total <= MOST else (index, total)
