"""What is started again, what counts once, what is lost: a whole run, with an engine and a depot that are played."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

import pytest
from rich.console import Console

from stackproof.catalog.records import SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.errors import DockerError
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.shards.records import Shard
from stackproof.stack.engine_records import NodeFacts, TaskFacts
from stackproof.swarm.ground import Ground
from stackproof.swarm.pieces import Piece
from stackproof.swarm.rounds import Limits, Start
from stackproof.swarm.shown import Shown
from stackproof.swarm.watch import Watch

HERE = Path()
CELL = Cell(
    suite=SuiteSpec(name="base", description="", roots=("tests",), default_setup="local", source=HERE),
    setup=SetupSpec(name="local", description="", source=HERE),
    stack=StackSpec(name="toy", description="", folder=HERE, modes=(StackMode.LIBRARY,), source=HERE),
    mode=StackMode.LIBRARY,
    inference_mode=Mode.REPLAY,
    service=None,
    paths=("tests",),
)
GOOD = {"outcome.json": b"{}", "result.json": b"{}"}


def node(name: str, status: str = "ready") -> NodeFacts:
    return NodeFacts(
        id=name,
        hostname=f"host-{name}",
        status=status,
        availability="active",
        is_manager=False,
        address="",
        cpus=2.0,
        memory=1,
    )


def archive(files: dict[str, bytes]) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            opened.addfile(entry, io.BytesIO(data))
    made.seek(0)
    return made


@dataclass(kw_only=True)
class Played:
    """Engine, ground and depot in one; each look lets a second pass and does what the script says of it."""

    nodes_: dict[str, NodeFacts]
    script: dict[int, Callable[[Played], None]] = field(default_factory=dict)
    jobs: dict[str, tuple[Start, ...]] = field(default_factory=dict)
    states: dict[tuple[str, int], TaskFacts] = field(default_factory=dict)
    told: list[dict[str, Any]] = field(default_factory=list)
    results: dict[int, dict[str, bytes]] = field(default_factory=dict)
    away: bool = False
    # While it is: calls that fail, and what was asked for in vain.
    unready: str = ""
    refused: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    now: float = 0.0
    at_once: int = 8
    workers: dict[str, Any] = field(default_factory=dict)

    @property
    def engine(self) -> Played:
        return self

    def nodes(self) -> tuple[NodeFacts, ...]:
        if self.away:
            raise DockerError("the Docker engine is away")
        return tuple(self.nodes_.values())

    def tasks(self, *services: str) -> tuple[TaskFacts, ...]:
        return tuple(task for (name, _), task in self.states.items() if name in services)

    def retire(self, service: str) -> None:
        self.retired.append(service)

    def refuse(self, what: str) -> None:
        if self.unready == what:
            self.refused.append(what)
            raise DockerError(f"the Docker engine failed while {what}")

    def task_logs(self, task: str, *, check: Callable[[], None]) -> Iterator[bytes]:
        check()
        yield f"one line\nthe last line of {task}\n\n".encode()

    def by_stack(self, starts: Sequence[Start], cells: Sequence[Cell]) -> Iterator[tuple[Start, ...]]:
        return Ground.by_stack(cast("Ground", self), starts, cells)

    def job(self, starts: Sequence[Start], cells: Sequence[Cell]) -> str:
        self.refuse("making a job")
        name = f"job-{len(self.jobs) + 1}"
        self.jobs[name] = tuple(starts)
        free = [each for each in self.nodes_ if each not in starts[0].avoid and self.nodes_[each].takes_tasks]
        for slot in range(len(starts)):
            self.states[name, slot] = TaskFacts(
                id=f"{name}-{slot}", service=name, slot=slot, node=free[slot % len(free)], state="running", desired="",
                message="", error="", container="", code=None, created=0.0, changed=0.0,
            )  # fmt: skip
        return name

    def events(self) -> list[dict[str, Any]]:
        told, self.told = self.told, []
        return told

    def require(self) -> None:
        pass

    @contextmanager
    def fetch(self, piece: int) -> Iterator[IO[bytes]]:
        self.refuse("copying out")
        with archive(self.results.get(piece, GOOD)) as found:
            yield found

    def sleep(self, seconds: float) -> None:
        self.now += 1.0
        assert self.now < 5000, "it does not come to an end"
        act = self.script.get(int(self.now))
        if act is not None:
            act(self)

    def deliver(self, piece: int, attempt: int = 1, event: str = "delivered") -> None:
        self.told.append({"event": event, "piece": piece, "attempt": attempt})

    def sign(self, piece: int, attempt: int = 1, **said: Any) -> None:
        self.told.append({"event": "sign", "piece": piece, "attempt": attempt, "said": {"phase": "running", **said}})

    def state(self, service: str, slot: int, **more: Any) -> None:
        self.states[service, slot] = replace(self.states[service, slot], **more)


@dataclass(kw_only=True)
class Seen:
    """What came of it."""

    played: Played
    watch: Watch
    lines: list[str]
    taken: list[int]


@pytest.fixture
def seen(tmp_path: Path) -> Callable[[int, Played], Seen]:
    """Plays a run of so many pieces to its end."""

    def run(number: int, played: Played) -> Seen:
        pieces = [
            Piece(
                number=index,
                cell=replace(CELL, shard=Shard(index=index + 1, total=number)),
                title=f"base {index + 1}/{number}",
            )
            for index in range(number)
        ]
        lines: list[str] = []
        taken: list[int] = []
        (tmp_path / "cells").mkdir()
        watch = Watch(
            ground=cast("Any", played),
            depot=cast("Any", played),
            shown=Shown(Console(quiet=True), live=False, line=lines.append, clock=lambda: played.now),
            limits=Limits(),
            pieces=pieces,
            cells=tmp_path / "cells",
            taken=lambda piece: taken.append(piece.number),
            check=lambda: None,
            clock=lambda: played.now,
            sleep=played.sleep,
        )
        found = Seen(played=played, watch=watch, lines=lines, taken=taken)
        watch.run()
        return found

    return run


def nodes(*names: str) -> dict[str, NodeFacts]:
    return {name: node(name) for name in names}


def test_each_shard_is_started_once_and_taken_once(seen: Callable[[int, Played], Seen]) -> None:
    script = {3: lambda played: [played.deliver(piece) for piece in range(3)]}
    found = seen(3, Played(nodes_=nodes("a", "b"), script=cast("Any", script)))
    assert [len(starts) for starts in found.played.jobs.values()] == [3]
    assert found.taken == [0, 1, 2]
    assert [piece.by for piece in found.watch.pieces] == [1, 1, 1]


def test_a_shard_whose_node_is_down_runs_again_on_another_one(seen: Callable[[int, Played], Seen]) -> None:
    def down(played: Played) -> None:
        played.nodes_["a"] = node("a", "down")
        played.deliver(1)

    script = {3: down, 9: lambda played: played.deliver(0, 2)}
    found = seen(2, Played(nodes_=nodes("a", "b"), script=cast("Any", script)))
    assert found.played.jobs["job-2"] == (Start(piece=0, number=2, avoid=frozenset({"a"})),)
    assert found.watch.pieces[0].by == 2
    assert found.lines.count("✗ base 1/2, attempt 1: its node host-a is down") == 1
    assert "base 1/2 is started again, attempt 2" in found.lines


def test_who_delivers_after_somebody_else_has_is_noted_and_not_taken(seen: Callable[[int, Played], Seen]) -> None:
    def silent_speaks(played: Played) -> None:
        played.deliver(0, 2)
        played.deliver(0, 1, "late")

    script = {2: lambda played: played.sign(0), 70: silent_speaks, 75: lambda played: played.deliver(1)}
    found = seen(2, Played(nodes_=nodes("a", "b"), script=cast("Any", script)))
    assert found.taken == [0, 1]
    assert (found.watch.pieces[0].by, found.watch.pieces[0].late) == (2, [1])
    assert "✗ base 1/2, attempt 1: said nothing for 60 s on host-a" in found.lines
    assert "base 1/2: attempt 1 delivered too, after attempt 2: not used" in found.lines


def test_a_node_without_room_says_so_and_its_shard_is_lost_after_three_attempts(
    seen: Callable[[int, Played], Seen], tmp_path: Path
) -> None:
    def broken(job: str, attempt: int) -> Callable[[Played], None]:
        def act(played: Played) -> None:
            played.sign(0, attempt, phase="broken", text="no room is left on the disk of its node")
            played.state(job, 0, state="failed", code=74)

        return act

    script = {3: broken("job-1", 1), 6: broken("job-2", 2), 9: broken("job-3", 3)}
    found = seen(1, Played(nodes_=nodes("a", "b"), script=script))
    assert len(found.played.jobs) == 3
    assert found.watch.pieces[0].lost.count("no room is left on the disk of its node") == 3
    assert found.watch.pieces[0].lost.startswith("attempt 1 failed with exit code 74 on host-a: no room")
    logs = sorted(path.name for path in (tmp_path / "swarm").iterdir())
    assert logs == [f"base-local-library-toy.1of1.{number}.log" for number in (1, 2, 3)]


def test_a_task_that_ends_by_itself_is_told_by_its_last_line(seen: Callable[[int, Played], Seen]) -> None:
    script = {
        3: lambda played: played.state("job-1", 0, state="failed", code=1),
        9: lambda played: played.deliver(0, 2),
    }
    found = seen(1, Played(nodes_=nodes("a", "b"), script=cast("Any", script)))
    assert "✗ base 1/1, attempt 1: failed with exit code 1 on host-a: the last line of job-1-0" in found.lines


def test_what_is_no_evidence_is_lost_and_not_asked_for_again(seen: Callable[[int, Played], Seen]) -> None:
    played = Played(
        nodes_=nodes("a"),
        script={2: lambda played: played.deliver(0)},
        results={0: {**GOOD, "../../escaped": b"x"}},
    )
    found = seen(1, played)
    assert found.taken == []
    assert "no evidence of a shard" in found.watch.pieces[0].lost
    assert len(played.jobs) == 1


def test_no_more_shards_run_at_a_time_than_the_nodes_take(seen: Callable[[int, Played], Seen]) -> None:
    script: dict[int, Any] = {second: lambda played, p=second // 3 - 1: played.deliver(p) for second in (3, 6, 9, 12)}
    found = seen(4, Played(nodes_=nodes("a"), script=script, at_once=2))
    assert [len(starts) for starts in found.played.jobs.values()] == [2, 1, 1]


def test_a_manager_may_be_away_for_a_while(seen: Callable[[int, Played], Seen]) -> None:
    def away(played: Played) -> None:
        played.away = True

    def back(played: Played) -> None:
        played.away = False
        played.deliver(0)

    assert seen(1, Played(nodes_=nodes("a"), script={3: away, 50: back})).taken == [0]


def test_a_manager_that_stays_away_ends_the_run(seen: Callable[[int, Played], Seen]) -> None:
    def away(played: Played) -> None:
        played.away = True

    with pytest.raises(DockerError, match="is away"):
        seen(1, Played(nodes_=nodes("a"), script={3: away}))


def test_signs_of_life_of_an_attempt_that_was_given_up_change_nothing(seen: Callable[[int, Played], Seen]) -> None:
    played = Played(
        nodes_=nodes("a", "b"),
        script={
            2: lambda played: played.sign(0, total=10, done=9),
            65: lambda played: played.sign(0, 2, total=10, done=1),
            66: lambda played: played.sign(0, 1, total=10, done=10),
            72: lambda played: played.deliver(0, 2),
        },
    )
    found = seen(1, played)
    assert (found.watch.pieces[0].total, found.watch.pieces[0].done) == (10, 1)


def test_a_sign_of_life_that_makes_no_sense_counts_as_nothing(seen: Callable[[int, Played], Seen]) -> None:
    played = Played(
        nodes_=nodes("a"),
        script={
            2: lambda played: played.sign(0, total=-1, done="x", failed=None),
            4: lambda played: played.deliver(0),
        },
    )
    found = seen(1, played)
    assert (found.watch.pieces[0].total, found.watch.pieces[0].done, found.watch.pieces[0].failed) == (0, 0, 0)


def test_what_the_depot_says_of_nobody_is_not_heard(seen: Callable[[int, Played], Seen]) -> None:
    def odd(played: Played) -> None:
        played.told += [{"event": "open"}, {"event": "delivered", "piece": 7, "attempt": 1}, {}]
        played.deliver(0)

    found = seen(1, Played(nodes_=nodes("a"), script={2: odd}))
    assert found.taken == [0]
    assert len(found.lines) == 1


def unready(what: str) -> Callable[[Played], None]:
    def act(played: Played) -> None:
        played.unready = what

    return act


def test_a_result_that_does_not_come_out_at_once_is_asked_for_again(seen: Callable[[int, Played], Seen]) -> None:
    def delivered(played: Played) -> None:
        played.unready = "copying out"
        played.deliver(0)
        played.deliver(1)

    found = seen(2, Played(nodes_=nodes("a"), script={3: delivered, 50: unready("")}))
    assert found.taken == [0, 1]
    assert 10 < len(found.played.refused) < 50
    assert len(found.played.jobs) == 1, "what was delivered is not started again"


def test_a_result_that_never_comes_out_ends_the_run(seen: Callable[[int, Played], Seen]) -> None:
    def delivered(played: Played) -> None:
        played.unready = "copying out"
        played.deliver(0)

    played = Played(nodes_=nodes("a"), script={3: delivered})
    with pytest.raises(DockerError, match="failed while copying out"):
        seen(1, played)
    assert 60 < played.now < 70


def test_a_job_that_was_not_made_is_made_once_the_manager_answers(seen: Callable[[int, Played], Seen]) -> None:
    def failed(played: Played) -> None:
        played.unready = "making a job"
        played.state("job-1", 0, state="failed", code=1)

    found = seen(
        1, Played(nodes_=nodes("a", "b"), script={3: failed, 40: unready(""), 45: lambda played: played.deliver(0, 2)})
    )
    assert found.taken == [0]
    assert len(found.played.refused) > 10
    assert [starts[0].number for starts in found.played.jobs.values()] == [1, 2]


def test_a_manager_that_does_not_make_the_first_job_ends_the_run(seen: Callable[[int, Played], Seen]) -> None:
    played = Played(nodes_=nodes("a"), unready="making a job")
    with pytest.raises(DockerError, match="failed while making a job"):
        seen(1, played)
    assert played.now <= 1, "before the first shard there is nothing to be patient for"


def test_a_manager_that_makes_no_more_jobs_ends_the_run_after_a_while(seen: Callable[[int, Played], Seen]) -> None:
    def failed(played: Played) -> None:
        played.unready = "making a job"
        played.state("job-1", 0, state="failed", code=1)

    played = Played(nodes_=nodes("a"), script={3: failed})
    with pytest.raises(DockerError, match="failed while making a job"):
        seen(1, played)
    assert 60 < played.now < 70


def test_a_job_goes_once_none_of_its_tasks_can_do_any_more(seen: Callable[[int, Played], Seen]) -> None:
    def second(played: Played) -> None:
        played.deliver(0)
        played.state("job-1", 1, state="failed", code=1)

    script: dict[int, Any] = {
        3: second,
        9: lambda played: played.deliver(1, 2),
        12: lambda played: played.deliver(2),
    }
    found = seen(3, Played(nodes_=nodes("a", "b"), script=script, at_once=2))
    assert [[start.piece for start in starts] for starts in found.played.jobs.values()] == [[0, 1], [1], [2]]
    assert found.played.retired == ["job-1", "job-2"]


def test_a_job_stays_while_one_of_its_tasks_may_still_deliver(seen: Callable[[int, Played], Seen]) -> None:
    def down(played: Played) -> None:
        played.nodes_["a"] = node("a", "down")

    script = {3: down, 9: lambda played: played.deliver(0, 2)}
    found = seen(1, Played(nodes_=nodes("a", "b"), script=cast("Any", script)))
    assert found.played.retired == []


def test_who_delivers_after_all_was_given_up_is_taken(seen: Callable[[int, Played], Seen]) -> None:
    def gone(job: str) -> Callable[[Played], None]:
        return lambda played: played.state(job, 0, state="failed", code=1)

    played = Played(
        nodes_=nodes("a", "b"),
        script={
            3: gone("job-1"),
            6: gone("job-2"),
            9: gone("job-3"),
            12: lambda played: played.deliver(0, 3),
            15: lambda played: played.deliver(1, 1),
        },
        at_once=2,
    )
    found = seen(2, played)
    assert found.taken == [0, 1]
    assert [piece.lost for piece in found.watch.pieces] == ["", ""]
