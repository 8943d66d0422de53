"""Which shards are to be started now, and where not: a pure function of what was started, and of what became of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackproof.stack.engine_records import ENDED, NodeFacts, TaskFacts

ATTEMPTS = 3
"""How often a shard is started at most."""

_COMPLETE = "complete"
_DOWN = frozenset({"down", "disconnected"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Seconds. start: until a task says something of its own. silent: between two signs of life. whole: an attempt.

    settle: from the end of a task until its delivery is known here.
    """

    start: float = 300.0
    silent: float = 60.0
    settle: float = 10.0
    whole: float = 2400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One start of a piece. piece: from 0. number: from 1. node: its id, empty while it has none.

    dead: why it will not deliver any more, empty while it may.
    """

    piece: int
    number: int
    node: str = ""
    dead: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A piece to be started. avoid: nodes that it is not to run on."""

    piece: int
    number: int
    avoid: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """start: in the order in which they should be. lost: pieces that nobody will deliver, and why."""

    start: tuple[Start, ...]
    lost: Mapping[int, str]


def decide(
    pieces: int,
    attempts: Sequence[Attempt],
    delivered: Collection[int],
    usable: Collection[str],
    *,
    at_once: int | None = None,
    most: int = ATTEMPTS,
) -> Round:
    """What comes next. usable: ids of the nodes that take tasks. at_once: attempts that may live at a time.

    A piece is started where none of its attempts lives and it was not delivered, at most `most` times, away from nodes
    on which it has failed as long as another one is usable.
    """
    of: dict[int, list[Attempt]] = {piece: [] for piece in range(pieces)}
    for attempt in attempts:
        of[attempt.piece].append(attempt)
    living = sum(1 for attempt in attempts if not attempt.dead and attempt.piece not in delivered)
    room = pieces if at_once is None else max(0, at_once - living)
    start, lost = [], {}
    for piece, tried in of.items():
        if piece in delivered or any(not attempt.dead for attempt in tried):
            continue
        if len(tried) >= most:
            lost[piece] = "; ".join(_told(attempt) for attempt in tried)
            continue
        failed = frozenset(attempt.node for attempt in tried if attempt.node)
        avoid = failed if set(usable) - failed else frozenset()
        start.append(Start(piece=piece, number=len(tried) + 1, avoid=avoid))
    # Those that were tried before first: what they cost is known to be late.
    start.sort(key=lambda item: (-item.number, item.piece))
    return Round(start=tuple(start[:room]), lost=lost)


def together(starts: Sequence[Start]) -> Iterator[tuple[Start, ...]]:
    """Starts that one job can hold: those that avoid the same nodes."""
    for avoid in dict.fromkeys(start.avoid for start in starts):
        yield tuple(start for start in starts if start.avoid == avoid)


def fate(  # noqa: PLR0911 - each cause is one
    task: TaskFacts | None,
    node: NodeFacts | None,
    *,
    begun: float,
    said: float | None,
    ended: float | None,
    now: float,
    limits: Limits,
) -> str:
    """Why an attempt will not deliver any more, empty while it may.

    task: None where the engine has not made it yet. begun: when it was asked for. said: when it last gave a sign of
    life. ended: since when its task is known to be complete. All of them as `now`, from one clock.
    """
    where = f" on {node.hostname}" if node is not None else ""
    if now - begun > limits.whole:
        return f"took longer than {limits.whole:.0f} s{where}"
    if task is None:
        return f"was not started within {limits.start:.0f} s" if now - begun > limits.start else ""
    if task.state in ENDED - {_COMPLETE}:
        return f"{_end(task)}{where}"
    if node is not None and node.status in _DOWN:
        return f"its node {node.hostname} is {node.status}"
    if task.state == _COMPLETE:
        # Its delivery may be on its way.
        late = ended is not None and now - ended > limits.settle
        return f"ended{where} and delivered nothing" if late else ""
    if said is None:
        wait = f": {task.error}" if task.error else f" (it is {task.state}{where})"
        return f"did not begin within {limits.start:.0f} s{wait}" if now - begun > limits.start else ""
    return f"said nothing for {limits.silent:.0f} s{where}" if now - said > limits.silent else ""


def _end(task: TaskFacts) -> str:
    code = f" with exit code {task.code}" if task.code else ""
    why = f" ({task.error})" if task.error and not code else ""
    return f"{task.state}{code}{why}"


def _told(attempt: Attempt) -> str:
    return f"attempt {attempt.number} {attempt.dead}"
