"""The pieces of a run on a swarm: each cell in so many shards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from stackproof.plan import Cell, Plan
from stackproof.shards.records import Shard
from stackproof.swarm.rounds import Attempt


@dataclass(kw_only=True, slots=True)
class Try:
    """One attempt while it goes on. cell: the id of its shard. begun: when it was asked for. said: its last sign.

    running: since when its tests have been known. ended: since when its task is known to be complete. over: when it
    delivered. dead: why it will not. words: what it said of that itself. stopped: whether its task runs no more. All
    times are of one clock.
    """

    piece: int
    cell: str
    number: int
    service: str
    slot: int
    begun: float
    node: str = ""
    host: str = ""
    said: float | None = None
    running: float | None = None
    ended: float | None = None
    over: float | None = None
    dead: str = ""
    words: str = ""
    stopped: bool = False

    @property
    def attempt(self) -> Attempt:
        """As `rounds.decide` takes it."""
        return Attempt(piece=self.piece, number=self.number, node=self.node, dead=self.dead)


@dataclass(kw_only=True, slots=True)
class Piece:
    """What is known of a shard. number: from 0. title: for lines about one among its like.

    by: the attempt that delivered it. late: those that came after it.
    """

    number: int
    cell: Cell
    title: str
    total: int = 0
    done: int = 0
    failed: int = 0
    by: int | None = None
    late: list[int] = field(default_factory=list)
    lost: str = ""

    @property
    def settled(self) -> bool:
        """Whether nothing more is waited for."""
        return self.by is not None or bool(self.lost)

    def note(self, said: dict[str, Any]) -> None:
        """A sign of life of the attempt that is looked at; what it holds was sent by somebody."""
        self.total, self.done, self.failed = (
            value if isinstance(value := said.get(name), int) and 0 <= value < 1 << 31 else 0
            for name in ("total", "done", "failed")
        )


def of_plan(plan: Plan) -> list[Piece]:
    """The shards of all cells, those of one cell in a row."""
    total = plan.options.shards or 1
    cells = [
        replace(cell, shard=Shard(index=index, total=total)) for cell in plan.cells for index in range(1, total + 1)
    ]
    return [Piece(number=number, cell=cell, title=_title(cell, plan)) for number, cell in enumerate(cells)]


def _title(cell: Cell, plan: Plan) -> str:
    """`base 3/8`, with what else tells it from those of the run's other cells."""
    parts = [cell.suite.name]
    if len({each.setup.name for each in plan.cells}) > 1:
        parts.append(cell.setup.name)
    if len({each.stack_config for each in plan.cells}) > 1:
        parts.append(cell.stack_config)
    return f"{' '.join(parts)} {cell.shard}"
