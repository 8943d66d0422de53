"""Which shards are started, where, and when they are given up."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stackproof.stack.engine_records import NodeFacts, TaskFacts
from stackproof.swarm.rounds import ATTEMPTS, Attempt, Limits, Start, decide, fate, together

NODES = ("one", "two", "three")
LIMITS = Limits(start=300.0, silent=60.0, settle=10.0, whole=2400.0)
TASK = TaskFacts(
    id="t",
    service="s",
    slot=0,
    node="one",
    state="running",
    desired="running",
    message="",
    error="",
    container="",
    code=None,
    created=0.0,
    changed=0.0,
)
NODE = NodeFacts(
    id="one",
    hostname="engine-1",
    status="ready",
    availability="active",
    is_manager=False,
    address="",
    cpus=2.0,
    memory=1,
)


@st.composite
def states(draw: st.DrawFn) -> tuple[int, list[Attempt], set[int], set[str]]:
    """What a run may look like: at most one attempt of a piece lives, and it is the last one."""
    pieces = draw(st.integers(min_value=0, max_value=8))
    attempts: list[Attempt] = []
    for piece in range(pieces):
        tried = draw(st.integers(min_value=0, max_value=ATTEMPTS))
        for number in range(1, tried + 1):
            lives = number == tried and draw(st.booleans())
            node = draw(st.sampled_from(("", *NODES)))
            attempts.append(Attempt(piece=piece, number=number, node=node, dead="" if lives else "failed"))
    delivered = draw(st.sets(st.integers(min_value=0, max_value=max(0, pieces - 1)))) if pieces else set()
    return pieces, attempts, delivered, draw(st.sets(st.sampled_from(NODES)))


@given(states(), st.one_of(st.none(), st.integers(min_value=1, max_value=8)))
def test_every_piece_is_delivered_alive_started_waiting_or_lost_and_only_one_of_these(
    state: tuple[int, list[Attempt], set[int], set[str]], at_once: int | None
) -> None:
    pieces, attempts, delivered, usable = state
    found = decide(pieces, attempts, delivered, usable, at_once=at_once)
    started = {start.piece: start for start in found.start}
    assert len(started) == len(found.start)
    for piece in range(pieces):
        tried = [each for each in attempts if each.piece == piece]
        alive = any(not each.dead for each in tried)
        due = piece not in delivered and not alive
        assert (piece in found.lost) == (due and len(tried) == ATTEMPTS)
        if piece in started:
            start = started[piece]
            assert due
            assert start.number == len(tried) + 1 <= ATTEMPTS
            # Away from where it failed, and never away from everything.
            assert start.avoid <= {each.node for each in tried if each.node}
            assert not usable or usable - start.avoid
            if usable - {each.node for each in tried}:
                assert start.avoid == {each.node for each in tried if each.node}
        elif due and piece not in found.lost:
            assert at_once is not None  # nothing else keeps it waiting
    living = sum(1 for each in attempts if not each.dead and each.piece not in delivered)
    assert at_once is None or living + len(started) <= max(at_once, living)


@given(states())
def test_a_run_in_which_every_attempt_fails_comes_to_an_end(
    state: tuple[int, list[Attempt], set[int], set[str]],
) -> None:
    pieces, attempts, delivered, usable = state
    rounds = 0
    attempts = [replace(each, dead="failed") for each in attempts]
    while (found := decide(pieces, attempts, delivered, usable)).start:
        attempts += [Attempt(piece=s.piece, number=s.number, node="one", dead="failed") for s in found.start]
        rounds += 1
        assert rounds <= ATTEMPTS
    assert set(found.lost) == set(range(pieces)) - delivered


@given(st.lists(st.tuples(st.integers(0, 5), st.frozensets(st.sampled_from(NODES)))))
def test_jobs_hold_every_start_once_and_each_has_one_set_of_nodes_to_avoid(
    given_: list[tuple[int, frozenset[str]]],
) -> None:
    starts = [Start(piece=number, number=1, avoid=avoid) for number, (_, avoid) in enumerate(given_)]
    jobs = list(together(starts))
    assert sorted(start.piece for job in jobs for start in job) == [start.piece for start in starts]
    assert all(len({start.avoid for start in job}) == 1 for job in jobs)
    assert len(jobs) == len({start.avoid for start in starts})


def test_what_failed_comes_before_what_was_never_tried() -> None:
    tried = [Attempt(piece=2, number=1, node="one", dead="failed")]
    found = decide(3, tried, (), NODES, at_once=1)
    assert found.start == (Start(piece=2, number=2, avoid=frozenset({"one"})),)


def test_a_lost_piece_says_what_became_of_each_attempt() -> None:
    tried = [Attempt(piece=0, number=number, dead=f"failed on {number}") for number in (1, 2, 3)]
    assert decide(1, tried, (), NODES).lost == {
        0: "attempt 1 failed on 1; attempt 2 failed on 2; attempt 3 failed on 3"
    }


def dead(task: TaskFacts | None = TASK, node: NodeFacts | None = NODE, **at: float | None) -> str:
    times: dict[str, float | None] = {"begun": 0.0, "said": 95.0, "ended": None, "now": 100.0, **at}
    return fate(task, node, limits=LIMITS, **times)  # type: ignore[arg-type]


def test_an_attempt_that_speaks_lives() -> None:
    assert dead() == ""
    assert dead(said=41.0) == ""


def test_silence_ends_it_only_once_it_has_spoken() -> None:
    assert dead(said=39.0) == "said nothing for 60 s on engine-1"
    assert dead(said=None) == ""
    assert dead(said=None, now=301.0) == "did not begin within 300 s (it is running on engine-1)"


def test_a_task_that_nobody_places_says_why() -> None:
    waits = replace(TASK, state="pending", node="", error="no suitable node (scheduling constraints not satisfied)")
    assert dead(waits, None, said=None) == ""
    assert dead(waits, None, said=None, now=301.0) == (
        "did not begin within 300 s: no suitable node (scheduling constraints not satisfied)"
    )
    assert dead(None, None, said=None, now=301.0) == "was not started within 300 s"


def test_the_end_of_a_node_ends_what_runs_on_it() -> None:
    assert dead(TASK, replace(NODE, status="down")) == "its node engine-1 is down"
    assert dead(TASK, replace(NODE, status="unknown")) == ""


def test_a_task_that_ended_well_may_still_be_heard_of() -> None:
    complete = replace(TASK, state="complete", code=0)
    assert dead(complete, ended=95.0) == ""
    assert dead(complete, ended=85.0) == "ended on engine-1 and delivered nothing"


def test_a_task_that_failed_says_how() -> None:
    assert dead(replace(TASK, state="failed", code=74)) == "failed with exit code 74 on engine-1"
    lacking = replace(TASK, state="rejected", error="No such image: sha256:0")
    assert dead(lacking) == "rejected (No such image: sha256:0) on engine-1"


def test_nothing_goes_on_for_ever() -> None:
    assert dead(said=2401.0, now=2401.0) == "took longer than 2400 s on engine-1"
