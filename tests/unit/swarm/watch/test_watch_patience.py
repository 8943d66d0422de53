"""Results, jobs and a manager that are waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.unit.swarm.watch.conftest import Played, Seen, node, nodes, unready

from stackproof.errors import DockerError


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
