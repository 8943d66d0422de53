"""A cell whose evidence lies in several folders, as one: shards of it, or parts that somebody ran by hand.

Everything is known of each part before anything that its tests said is read, so that the order of folders changes
nothing. Then one part after the other is read, and of each no more is kept than a verdict needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackproof.evidence import heads, read
from stackproof.evidence.deliveries import Delivery
from stackproof.evidence.folding import Folding
from stackproof.evidence.putting import Expected, Putting
from stackproof.evidence.read import CellFacts
from stackproof.plaintext import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class PutTogether:
    """A cell, and what is to be said of its folders: notes change nothing, contradictions prove nothing."""

    cell: CellFacts
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()


def put_together(name: str, found: Sequence[Delivery], expected: Expected) -> PutTogether:
    """One cell of `found`, which is sorted and has nothing twice."""
    if all(each.cell.shard is None for each in found):
        return _of_parts(name, found)
    return PutTogether(cell=Putting(name, found, expected).cell())


def _of_parts(name: str, found: Sequence[Delivery]) -> PutTogether:
    """Of folders that do not say that they are shards."""
    if len(found) == 1:
        return PutTogether(cell=read.whole(found[0].cell, found[0].path))
    folding = Folding()
    twice: list[str] = []
    present = True
    statuses: list[int | None] = []
    for each in found:
        cell = read.whole(each.cell, each.path)
        again, tests = folding.add(cell)
        twice += again
        folding.contradictions += tests.contradictions
        present = present and cell.log.present
        statuses.append(cell.log.exitstatus)
    origins = [each.origin for each in found]
    names = f"{', '.join(origins[:-1])} and {origins[-1]}"
    cell = replace(
        heads.of(name, [each.cell for each in found]),
        exit_code=heads.code([each.cell.exit_code for each in found]),
        report=folding.report(),
        log=folding.log(present=present, exitstatus=heads.code(statuses)),
        misses=folding.misses(),
        joined=folding.tests(),
    )
    if twice:
        several = len(set(twice))
        text = f"{name} is different in {names}: {counted(several, 'test')} {'is' if several == 1 else 'are'} in both"
        return PutTogether(cell=cell, contradictions=(text,))
    return PutTogether(cell=cell, notes=(f"{name} is put together from {names}",))
