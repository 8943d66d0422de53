"""A lane in several jobs: which pieces of it each one runs.

Every job makes the plan by itself. What it is made of is the commit (the lane, `ci/expected/`) and the timings; the
digest says which plan a job went by, so that two that planned differently are found out where their evidence meets.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from stackproof import options
from stackproof.catalog.records import Catalog
from stackproof.errors import UsageError
from stackproof.lanes import loads
from stackproof.lanes.loads import CellCost
from stackproof.lanes.packing import Packed, Piece, pack, took
from stackproof.lanes.records import Check, Lane
from stackproof.lanes.sound import undivided
from stackproof.shards import timings as times
from stackproof.shards.records import Shard

MOST = 100_000
"""Jobs of one lane: as many as an Indexed Job of Kubernetes has without further limits."""


@dataclass(frozen=True, kw_only=True)
class LanePlan:
    """A lane packed into `total` jobs. costs: of its cells, by id. timings: the paths that the times are from.

    words: what a command says to plan alike, beside the shard. problems: with these paths, a sentence each.
    """

    lane: Lane
    total: int
    costs: Mapping[str, CellCost]
    packed: Packed
    timings: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex over who runs what: `[lane, total, [[[name, part, of], …], …]]` as JSON without spaces."""
        jobs = [[[piece.name, piece.part, piece.of] for piece in job] for job in self.packed.jobs]
        text = json.dumps([self.lane.name, self.total, jobs], separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def seconds(self, index: int) -> float:
        """What job `index`, counted from 1, is expected to take."""
        return took(self.packed.jobs[index - 1]) / 1000

    def share(self, shard: Shard) -> Share:
        """What one job runs. ValueError for a shard of another total."""
        if shard.total != self.total:
            raise ValueError(f"{shard} of a plan of {self.total}")
        pieces = self.packed.jobs[shard.index - 1]
        names = {piece.name for piece in pieces}
        return Share(
            lane=replace(
                self.lane,
                cells=tuple(each for each in self.lane.cells if each.cell.id in names),
                checks=tuple(check for check in self.lane.checks if check.value in names),
            ),
            shard=shard,
            parts={piece.name: Shard(index=piece.part, total=piece.of) for piece in pieces if piece.of > 1},
            timings=self.timings,
            digest=self.digest,
            pieces=pieces,
            in_use=max((index for index, job in enumerate(self.packed.jobs, 1) if job), default=0),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """The part of a lane that one job runs. lane: with these cells and checks alone. parts: of the cells that are
    divided, by id; the others run whole. timings: with which each of them divides its tests. in_use: the last shard
    that has anything to do.
    """

    lane: Lane
    shard: Shard
    parts: Mapping[str, Shard]
    timings: tuple[str, ...]
    digest: str
    pieces: Sequence[Piece]
    in_use: int

    def facts(self) -> dict[str, Any]:
        """For `plan.json`: which job of which plan this is."""
        return {
            "lane": self.lane.name,
            "shard": {"index": self.shard.index, "total": self.shard.total},
            "plan_digest": self.digest,
            "in_use": self.in_use,
            "pieces": [
                {"name": piece.name, "part": piece.part, "of": piece.of, "seconds": piece.takes / 1000}
                for piece in self.pieces
            ],
        }


def planned(
    lane: Lane, total: int, *, project: Path, things: Catalog, environ: Mapping[str, str], timings: Sequence[str]
) -> LanePlan:
    """The plan of a lane in `total` jobs, with the timings of a command line, else of the variable or the project.

    UsageError for a lane that is not divided, too many jobs, and a path that is not there.
    """
    if why := undivided(lane):
        raise UsageError(f"lane {lane.name!r} {why}", hint="leave the shards out")
    if total > MOST:
        raise UsageError(f"{total} shards are more than anything runs", hint=f"at most {MOST}")
    given = {"timings": tuple(timings)} if timings else {}
    chosen = options.resolve(given, environ, project)
    earlier = times.read(chosen.timings, project=project)
    costs = loads.cell_costs(lane, project, things, earlier, jobs=total, together=chosen.together)
    return replace(
        make(lane, total, costs),
        timings=chosen.timings,
        words=tuple(word for path in timings for word in ("--timings", shlex.quote(path))),
        problems=earlier.problems,
    )


def make(lane: Lane, total: int, costs: Mapping[str, CellCost]) -> LanePlan:
    """The plan of a lane whose cells cost that much."""
    checks = [check for check in Check if check in lane.checks]
    packed = pack([*(cost.load() for cost in costs.values()), *loads.check_loads(checks)], total)
    return LanePlan(lane=lane, total=total, costs=costs, packed=packed)
