"""The end of a run on a swarm: what became of each shard and of each cell, for people and as evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stackproof import secret_values
from stackproof.errors import DockerError, ExitCode
from stackproof.evidence import jsonfile
from stackproof.evidence.outcomes import Outcome
from stackproof.live import scrub
from stackproof.plaintext import counted
from stackproof.plan import Cell, Plan, again
from stackproof.run.cell_run import CellOutcome
from stackproof.run.interrupts import Interrupted
from stackproof.run.judge import Judgement, worst
from stackproof.run.namespace import Seal
from stackproof.run.progress import Progress
from stackproof.run.screen import Screen
from stackproof.stack.engine_records import NodeFacts
from stackproof.swarm import results, whole
from stackproof.swarm.ground import Worker
from stackproof.swarm.pieces import Piece, Try
from stackproof.swarm.results import Judged

NAME = "swarm.json"
_SEALS = ("none", "tripwire", "namespace")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How it went. broken: what ended it before every shard was delivered or lost. began: by the clock of the tries."""

    broken: DockerError | Interrupted | None
    began: float
    seconds: float
    tries: Sequence[Try] = ()
    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)
    workers: Sequence[Worker] = ()


def outcomes(
    plan: Plan, pieces: Sequence[Piece], ended: Ended, screen: Screen, environ: Mapping[str, str]
) -> tuple[CellOutcome, ...]:
    """Show what came of every cell, write `swarm.json`, and say what came of every shard."""
    jsonfile.write(plan.run_dir / NAME, _facts(pieces, ended))
    if any(secret_values.may_be_told(cell.inference_mode) for cell in plan.cells):
        # The tasks have done so with what they delivered, and not with the log of one that failed.
        scrub.folder(plan.run_dir, secret_values.of_cells(plan.cells, environ, plan.options.env))
    found: list[CellOutcome] = []
    for cell in plan.cells:
        own = [piece for piece in pieces if piece.cell.whole_id == cell.id]
        judged = {
            piece.cell.id: results.judged(plan, piece.cell, plan.run_dir / "cells" / piece.cell.id, environ)
            for piece in own
            if piece.by is not None
        }
        shards = [_outcome(plan, piece, judged.get(piece.cell.id), ended) for piece in own]
        if all(shard.exit_code is ExitCode.PASS for shard in shards):
            wrong = whole.judge([judged[shard.cell.id].facts for shard in shards])
            if wrong is not None:
                # All of them together are at fault: none of them alone can be run again to see it.
                shards = [
                    replace(shard, exit_code=wrong.exit_code, summary=wrong.reason, hint=wrong.hint) for shard in shards
                ]
        _show(plan, cell, shards, judged, ended, screen)
        found += shards
    return tuple(found)


def _outcome(plan: Plan, piece: Piece, judged: Judged | None, ended: Ended) -> CellOutcome:
    judgement = _undelivered(piece, ended) if judged is None else judged.judgement
    by = next((each for each in ended.tries if (each.piece, each.number) == (piece.number, piece.by)), None)
    return CellOutcome(
        cell=piece.cell,
        cell_dir=plan.run_dir / "cells" / piece.cell.id,
        exit_code=judgement.exit_code,
        summary=judgement.reason or ("" if judged is None else judged.facts.counts.words()),
        hint=judgement.hint,
        seconds=0.0 if by is None or by.over is None else by.over - by.begun,
        sealed="none" if judged is None else judged.sealed,
        again=again(piece.cell, plan.options),
    )


def _undelivered(piece: Piece, ended: Ended) -> Judgement:
    match ended.broken:
        case _ if piece.lost:
            why = f"shard {piece.cell.shard} was never delivered: {piece.lost}"
            return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=why)
        case Interrupted() as error:
            code = ExitCode.SIGINT if error.signum.name == "SIGINT" else ExitCode.SIGTERM
            return Judgement(exit_code=code, reason=f"stopped by {error.signum.name}")
        case DockerError() as error:
            return Judgement(exit_code=ExitCode.DOCKER, reason=error.message, hint=error.hint)
        case _:
            return Judgement(exit_code=ExitCode.NOT_PROVEN, reason=f"shard {piece.cell.shard} was never delivered")


def _show(  # noqa: PLR0917 - each is another thing
    plan: Plan,
    cell: Cell,
    shards: Sequence[CellOutcome],
    judged: Mapping[str, Judged],
    ended: Ended,
    screen: Screen,
) -> None:
    for each in judged.values():
        entries = each.facts.log.tests.values()
        screen.failures([entry for entry in entries if entry.outcome.bad], each.facts.misses, plan.run_dir)
    if judged:
        tests = _together(judged)
        screen.line(f"{cell.suite.name} {tests.done}/{tests.total}  {tests.words()}")
    screen.line(_where(shards, ended))
    if calls := _calls(judged):
        weakest = _SEALS[min(_SEALS.index(each.sealed) if each.sealed in _SEALS else 0 for each in judged.values())]
        screen.calls(cell, calls, weakest, Seal(sealed=weakest == "namespace"))
    for each in judged.values():
        for line in each.drift:
            screen.line(line)
        if each.facts.budget is not None:
            screen.spent(each.facts.budget)
    code = worst(shard.exit_code for shard in shards)
    screen.conclusion(
        cell,
        Judgement(exit_code=code, reason="; ".join(_reasons(shards)), hint=_hint(shards, code)),
        ended.seconds,
        again(cell, plan.options),
    )


def _hint(shards: Sequence[CellOutcome], code: ExitCode) -> str | None:
    return next((shard.hint for shard in shards if shard.exit_code is code and shard.hint), None)


def _where(shards: Sequence[CellOutcome], ended: Ended) -> str:
    """`shards: 5 of 6 delivered, by 3 nodes; 2 attempts failed`: of all cells, as they share the nodes."""
    ids = {shard.cell.id for shard in shards if shard.cell_dir.is_dir()}
    own = {shard.cell.id for shard in shards}
    tries = [each for each in ended.tries if each.cell in own]
    # By their ids: two of them may have the same name.
    hosts = {each.node for each in tries if each.over is not None and each.node}
    failed = sum(bool(each.dead) for each in tries)
    again = f"; {counted(failed, 'attempt')} failed" if failed else ""
    by = f", by {counted(len(hosts), 'node')}" if hosts else ""
    return f"shards: {len(ids)} of {len(shards)} delivered{by}{again}"


def _reasons(shards: Sequence[CellOutcome]) -> Iterator[str]:
    bad = [shard for shard in shards if shard.exit_code is not ExitCode.PASS]
    said = Counter(shard.summary for shard in bad)
    for summary, number in said.items():
        if number == len(shards):
            yield summary
            continue
        which = ", ".join(str(shard.cell.shard) for shard in bad if shard.summary == summary)
        yield f"{summary} ({'shard' if number == 1 else 'shards'} {which})"


def _together(judged: Mapping[str, Judged]) -> Progress:
    found = Progress()
    for each in judged.values():
        log = each.facts.log
        found.total += len(log.collected or ())
        for nodeid, entry in log.tests.items():
            found.outcomes[nodeid] = entry.outcome
            if entry.outcome is Outcome.SKIPPED and entry.reason:
                found.skips[nodeid] = entry.reason
    return found


def _calls(judged: Mapping[str, Judged]) -> dict[str, Any]:
    found: Counter[str] = Counter()
    for each in judged.values():
        found.update({name: value for name, value in (each.facts.log.calls or {}).items() if type(value) is int})
    return dict(found)


def _facts(pieces: Sequence[Piece], ended: Ended) -> dict[str, Any]:
    """`swarm.json`: who ran what, where, and how it went. Seconds since its begin, by one clock."""

    def since(moment: float | None) -> float | None:
        return None if moment is None else round(moment - ended.began, 3)

    return {
        "schema": 1,
        "images": {worker.name: worker.reference for worker in ended.workers},
        "nodes": sorted(node.hostname for node in ended.nodes.values()),
        "seconds": round(ended.seconds, 3),
        "shards": [
            {
                "cell": piece.cell.id,
                "delivered_by": piece.by,
                "late": piece.late,
                "lost": piece.lost or None,
                "attempts": [
                    {
                        "number": each.number,
                        "node": each.host or None,
                        "started": since(each.begun),
                        "tests_began": since(each.running),
                        "over": since(each.over),
                        "failed": each.dead or None,
                    }
                    for each in ended.tries
                    if each.piece == piece.number
                ],
            }
            for piece in pieces
        ],
    }
