"""Watches the shards of a run: what the depot tells and what the manager says, and what is started because of it."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackproof.errors import DockerError, NotProvenError
from stackproof.stack.engine_records import NodeFacts, TaskFacts
from stackproof.stack.process import shown, tail
from stackproof.swarm import delivery, rounds
from stackproof.swarm.depot_container import DepotContainer
from stackproof.swarm.ground import Ground
from stackproof.swarm.pieces import Piece, Try
from stackproof.swarm.rounds import Limits
from stackproof.swarm.shown import Shown

_LOOK = 0.1  # seconds between two looks at the depot's log
_ASK = 1.0  # seconds between two questions to the manager
_PATIENCE = 60.0  # seconds that the manager may not answer
_LONGEST_LINE = 300


@dataclass(kw_only=True, slots=True)
class Watch:
    """cells: the folder of all cells. taken: called with each piece whose evidence lies there now."""

    ground: Ground
    depot: DepotContainer
    shown: Shown
    limits: Limits
    pieces: Sequence[Piece]
    cells: Path
    taken: Callable[[Piece], None]
    check: Callable[[], None]
    tries: list[Try] = field(default_factory=list)
    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)
    # Attempts whose result lies at the depot and is not here yet, and since when it cannot be fetched.
    coming: list[Try] = field(default_factory=list)
    unfetched: float | None = None
    retired: set[str] = field(default_factory=set)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    answered: float = 0.0
    asked: float = 0.0
    fetched: float = 0.0

    def run(self) -> None:
        """Until every piece is delivered or lost; Interrupted, and DockerError where engine or depot are gone."""
        self.answered = self.clock()
        while True:
            self.check()
            for event in self.depot.events():
                self._note(event)
            self._take_in()
            if all(piece.settled for piece in self.pieces):
                return
            if self.clock() - self.asked >= _ASK:
                self._ask()
            self.shown.look(self.pieces, self.tries)
            self.sleep(_LOOK)

    def _ask(self) -> None:
        try:
            self._look_and_start()
            self.answered = self.clock()
        except DockerError:
            # It may come back, and the shards go on without it. Before there are any, nothing is lost.
            if not self.tries or self.clock() - self.answered > _PATIENCE:
                raise
        self.asked = self.clock()

    def _look_and_start(self) -> None:
        self.nodes = {node.id: node for node in self.ground.engine.nodes()}
        services = dict.fromkeys(each.service for each in self.tries if not self._is_over(each))
        tasks = {(task.service, task.slot): task for task in self.ground.engine.tasks(*services)}
        self.depot.require()
        now = self.clock()
        for each in self.tries:
            if not self._is_over(each):
                self._judge(each, tasks.get((each.service, each.slot)), now)
        self._retire()
        self._go_on(now)

    def _retire(self) -> None:
        """Take jobs away of which nothing more can come: what their tasks have written fills the disks of nodes."""
        live = {each.service for each in self.tries if each.over is None and not each.stopped}
        for service in dict.fromkeys(each.service for each in self.tries):
            if service not in live and service not in self.retired:
                self.retired.add(service)
                self.ground.retire(service)

    def _go_on(self, now: float) -> None:
        without = frozenset[str]().union(*(worker.without for worker in self.ground.workers.values()))
        found = rounds.decide(
            len(self.pieces),
            [each.attempt for each in self.tries],
            {number for number, piece in enumerate(self.pieces) if piece.by is not None or piece.lost},
            [node.id for node in self.nodes.values() if node.takes_tasks and node.id not in without],
            at_once=self.ground.at_once,
        )
        for number, why in found.lost.items():
            self.pieces[number].lost = why
        cells = [piece.cell for piece in self.pieces]
        for starts in self.ground.by_stack(found.start, cells):
            service = self.ground.job(starts, cells)
            for start in starts:
                if start.number > 1:
                    self.shown.line(f"{self.pieces[start.piece].title} is started again, attempt {start.number}")
            self.tries += [
                Try(
                    piece=start.piece,
                    cell=cells[start.piece].id,
                    number=start.number,
                    service=service,
                    slot=slot,
                    begun=now,
                )
                for slot, start in enumerate(starts)
            ]

    def _judge(self, each: Try, task: TaskFacts | None, now: float) -> None:
        node = None if task is None else self.nodes.get(task.node)
        if task is not None and node is not None:
            each.node, each.host = task.node, node.hostname
        if task is not None and task.state == "complete" and each.ended is None:
            each.ended = now
        each.stopped = task is not None and task.ended
        dead = rounds.fate(task, node, begun=each.begun, said=each.said, ended=each.ended, now=now, limits=self.limits)
        if not dead:
            return
        failed = task is not None and task.state == "failed"
        last = self._log(each, task) if task is not None and failed else ""
        words = each.words or last
        each.dead = f"{dead}: {words}" if words else dead
        self.shown.line(f"✗ {self.pieces[each.piece].title}, attempt {each.number}: {each.dead}")
        if failed:
            self.shown.line(f"  log {shown(self.log_of(each))}")

    def log_of(self, each: Try) -> Path:
        """Where the log of an attempt that failed is kept."""
        return self.cells.parent / "swarm" / f"{self.pieces[each.piece].cell.id}.{each.number}.log"

    def _log(self, each: Try, task: TaskFacts) -> str:
        """Keep what a task wrote, and give its last line; empty where that is not to be had."""
        path = self.log_of(each)
        path.parent.mkdir(exist_ok=True)
        with suppress(DockerError), path.open("wb") as file:
            for data in self.ground.engine.task_logs(task.id, check=self.check):
                file.write(data)
        return next(iter(tail(path, 1)), "").strip()[:_LONGEST_LINE]

    def _note(self, event: Mapping[str, Any]) -> None:
        """One line of the depot; about what it says of a task, the task itself has been asked."""
        number, attempt = event.get("piece"), event.get("attempt")
        found = next((each for each in self.tries if (each.piece, each.number) == (number, attempt)), None)
        if found is None:
            return
        piece, now = self.pieces[found.piece], self.clock()
        match event.get("event"):
            case "sign":
                self._sign(found, piece, event.get("said"), now)
            case "delivered":
                found.over = found.said = now
                self.coming.append(found)
                self._take_in()
            case "late":
                found.over = now
                piece.late.append(found.number)
                first = f"attempt {piece.by}" if piece.by is not None else "another one"
                self.shown.line(f"{piece.title}: attempt {found.number} delivered too, after {first}: not used")
            case "trouble":
                self.shown.line(
                    f"{piece.title}, attempt {found.number}: its result could not be kept: {event.get('text')}"
                )
            case _:
                pass

    def _sign(self, found: Try, piece: Piece, said: object, now: float) -> None:
        if not isinstance(said, dict):
            return
        found.said = now
        match said.get("phase"):
            case "running":
                newest = max(each.number for each in self.tries if each.piece == found.piece)
                if piece.by is None and found.number == newest:
                    piece.note(said)
                if found.running is None and piece.total:
                    found.running = now
            case "broken":
                found.words = str(said.get("text", ""))[:_LONGEST_LINE]
            case _:
                pass

    def _take_in(self) -> None:
        """Fetch what was delivered. What does not come out stays at the depot, and is asked for again."""
        if self.unfetched is not None and self.clock() - self.fetched < _ASK:
            return
        while self.coming:
            began = self.fetched = self.clock()
            try:
                self._take(self.coming[0], self.pieces[self.coming[0].piece])
            except (DockerError, tarfile.TarError) as error:
                self.unfetched = began if self.unfetched is None else self.unfetched
                if self.clock() - self.unfetched <= _PATIENCE:
                    return
                if isinstance(error, DockerError):
                    raise
                self.pieces[self.coming[0].piece].lost = f"what the depot has of it cannot be read: {error}"
            self.unfetched = None
            del self.coming[0]

    def _take(self, found: Try, piece: Piece) -> None:
        try:
            with self.depot.fetch(found.piece) as archive:
                delivery.unpacked(archive, self.cells / piece.cell.id, what=piece.title)
        except NotProvenError as error:
            # The depot has nothing else of this piece, and takes nothing else.
            piece.lost = str(error)
            return
        # It may have been given up before.
        piece.by, piece.lost = found.number, ""
        self.taken(piece)
        self.shown.delivered(piece, found, self.pieces)

    def _is_over(self, each: Try) -> bool:
        return bool(each.dead) or each.over is not None or self.pieces[each.piece].settled
