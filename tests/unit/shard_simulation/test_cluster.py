"""A simulated run does all the work, none of it twice without a reason, and never beats its lower bound."""

from __future__ import annotations

import math

import pytest
from ci.shard_simulation.cluster import Cluster, lower_bound, run
from hypothesis import given, settings
from hypothesis import strategies as st

WORK = st.lists(st.floats(0.0, 50.0), min_size=1, max_size=30)
SPEEDS = st.lists(st.sampled_from([1.0, 1.0, 1 / 3, 2.0]), min_size=1, max_size=8)


@settings(deadline=None)
@given(WORK, SPEEDS, st.floats(0.0, 5.0), st.dictionaries(st.integers(0, 7), st.floats(0.0, 60.0), max_size=8))
def test_every_shard_is_done_once_and_no_work_comes_from_nowhere(
    work: list[float], speeds: list[float], start: float, dies: dict[int, float]
) -> None:
    ran = run(work, Cluster(speeds=speeds, start=start, dies=dies, noticed=7.0))
    done = [start + value for shard, value in enumerate(work) if shard not in ran.missing]
    assert ran.useful == pytest.approx(math.fsum(done))
    assert all(attempts >= 1 for shard, attempts in enumerate(ran.attempts) if shard not in ran.missing)
    # An attempt that is lost had a node that died under it, and no node dies twice.
    assert sum(ran.attempts) - len(done) <= len([node for node in dies if node < len(speeds)])
    assert ran.lost <= sum(dies.get(node, 0.0) * speed for node, speed in enumerate(speeds)) + 1e-9
    assert (ran.makespan == math.inf) is bool(ran.missing)
    assert not ran.missing or len([node for node in dies if node < len(speeds)]) == len(speeds)


@settings(deadline=None)
@given(WORK, SPEEDS, st.floats(0.0, 5.0), st.dictionaries(st.integers(0, 7), st.floats(0.0, 60.0), max_size=8))
def test_nothing_is_faster_than_the_lower_bound(
    work: list[float], speeds: list[float], start: float, dies: dict[int, float]
) -> None:
    cluster = Cluster(speeds=speeds, start=start, dies=dies)
    bound = lower_bound(math.fsum(work), max(work), cluster)
    assert run(work, cluster).makespan >= bound * (1 - 1e-9)


def test_the_lower_bound_is_reached_where_everything_fits() -> None:
    cluster = Cluster(speeds=[1.0, 1.0, 0.5], start=2.0)
    assert lower_bound(21.0, 8.8, cluster) == pytest.approx(27 / 2.5)
    assert run([8.8, 8.8, 3.4], cluster).makespan == pytest.approx(10.8)


def test_one_long_test_is_a_bound_too() -> None:
    assert lower_bound(20.0, 19.0, Cluster(speeds=[1.0] * 10, start=1.0)) == 20.0


def test_nodes_too_slow_for_any_test_do_not_make_the_bound_longer() -> None:
    assert lower_bound(4.0, 2.0, Cluster(speeds=[1.0, 1.0, 0.01], start=2.0)) == 4.0


def test_a_shard_whose_node_dies_starts_again_elsewhere_once_that_is_noticed() -> None:
    ran = run([10.0, 10.0], Cluster(speeds=[1.0, 1.0], start=1.0, dies={1: 4.0}, noticed=5.0))
    assert ran.attempts == (1, 2)
    assert ran.lost == 4.0
    assert ran.makespan == 22.0  # the other node is free at 11


def test_a_node_that_died_while_it_was_idle_may_still_be_given_a_shard_until_that_is_noticed() -> None:
    cluster = Cluster(speeds=[1.0, 1.0], start=0.0, dies={0: 4.0, 1: 2.0}, noticed=5.0)
    ran = run([1.0, 9.0], cluster)
    assert ran.missing == (1,)
    assert ran.makespan == math.inf
    assert ran.attempts == (1, 2)


def test_a_slow_node_takes_fewer_of_many_shards() -> None:
    few = run([30.0, 30.0], Cluster(speeds=[1.0, 1 / 3], start=0.0))
    many = run([5.0] * 12, Cluster(speeds=[1.0, 1 / 3], start=0.0))
    assert few.makespan == pytest.approx(90.0)
    assert many.makespan == pytest.approx(45.0)
