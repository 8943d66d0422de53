"""What moves when tests come and go."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.shards.partition import Partition, divide

SUITES = st.dictionaries(
    st.text(min_size=1, max_size=8), st.none() | st.integers(1, 9) | st.integers(1, 900), max_size=50
)
TOTALS = st.integers(1, 9)
NEW = st.text(min_size=9, max_size=9)


@settings(deadline=None)
@given(SUITES, TOTALS, NEW)
def test_a_test_without_a_time_that_comes_moves_none_with_a_time_and_two_others_for_each_part_at_most(
    suite: dict[str, int | None], total: int, new: str
) -> None:
    times = _times(suite)
    moved = _moved(divide(list(suite), total, seconds=times), divide([new, *suite], total, seconds=times))
    assert not moved & times.keys()
    assert len(moved) <= 2 * (total - 1)


@settings(deadline=None)
@given(SUITES, TOTALS, NEW, st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from("abc"), max_size=30))
def test_it_moves_none_with_a_time_either_where_there_are_groups(
    suite: dict[str, int | None], total: int, new: str, groups: dict[str, str]
) -> None:
    times = _times(suite)
    before = divide(list(suite), total, seconds=times, groups=groups)
    assert not _moved(before, divide([new, *suite], total, seconds=times, groups=groups)) & times.keys()
    for group in "abc":
        after = divide([new, *suite], total, seconds=times, groups={**groups, new: group})
        members = [name for name in suite if groups.get(name) == group]
        known = sum(name in times for name in members)
        if known == 0 or known >= len(members) - known + 1:
            assert not _moved(before, after) & times.keys()


@settings(deadline=None)
@given(SUITES.filter(bool), TOTALS, st.data())
def test_a_test_with_a_time_that_goes_moves_none_that_takes_longer(
    suite: dict[str, int | None], total: int, data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(suite)))
    left = [name for name in suite if name != gone]
    times = _times(suite)
    moved = _moved(divide(list(suite), total, seconds=times), divide(left, total, seconds=times))
    if gone in times:
        assert all(times[name] <= times[gone] for name in moved & times.keys())
    else:
        assert not moved & times.keys()
        assert len(moved) <= 2 * (total - 1)


def test_among_groups_of_equal_times_the_name_decides_not_the_tests() -> None:
    times, groups = {"b": 1.0, "c": 1.0}, {"a": "second", "b": "first", "c": "second"}
    before = divide(["b", "c"], 2, seconds=times, groups=groups)
    assert not _moved(before, divide(["a", "b", "c"], 2, seconds=times, groups=groups))


def test_few_move_in_a_large_suite() -> None:
    tests = [f"tests/test_{number % 97}.py::test_{number}" for number in range(10_000)]
    chance = random.Random(5)  # noqa: S311
    for share in (0.0, 0.5, 0.9):
        times = {name: chance.lognormvariate(-3, 1.5) for name in tests if chance.random() < share}
        before = divide(tests, 256, seconds=times)
        moved = [
            len(_moved(before, divide([*tests, f"tests/test_new.py::test_{number}"], 256, seconds=times)))
            for number in range(5)
        ]
        assert max(moved) <= 40, (share, moved)  # the proven bound is 510


def test_one_more_test_in_a_group_without_times_moves_few() -> None:
    groups = {f"test_{number}": f"module {number % 300}" for number in range(6000)}
    before = divide(list(groups), 32, seconds={}, groups=groups)
    after = divide([*groups, "new"], 32, seconds={}, groups={**groups, "new": "module 7"})
    assert len(_moved(before, after)) <= len(groups) / 10


def _times(suite: dict[str, int | None]) -> dict[str, float]:
    return {name: float(value) for name, value in suite.items() if value is not None}


def _moved(before: Partition, after: Partition) -> set[str]:
    old, new = (dict(zip(each.tests, each.parts, strict=True)) for each in (before, after))
    return {name for name in old.keys() & new.keys() if old[name] != new[name]}
