"""What is started again, what counts once, what is lost: a whole run, with an engine and a depot that are played."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tests.unit.swarm.watch.conftest import GOOD, Played, Seen, node, nodes

from stackproof.swarm.rounds import Start


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
