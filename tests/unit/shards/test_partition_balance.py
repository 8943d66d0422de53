"""No part takes much longer than the others: bounds that hold for any tests."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.shards.partition import divide

SECONDS = st.integers(1, 50) | st.integers(1, 5) | st.sampled_from([1, 1000])
TOTALS = st.integers(1, 9)


@settings(deadline=None)
@given(st.lists(SECONDS, min_size=1, max_size=7), st.integers(2, 3))
def test_where_all_times_are_known_the_longest_part_is_within_four_thirds_of_the_best_division(
    seconds: list[int], total: int
) -> None:
    times = {f"test_{number}": float(value) for number, value in enumerate(seconds)}
    best = min(max(_loads(seconds, parts, total)) for parts in product(range(total), repeat=len(seconds)))
    found = max(divide(list(times), total, seconds=times).estimated)
    assert best <= found + 1e-6
    assert found <= best * (4 / 3 - 1 / (3 * total)) + 1e-6


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 200), SECONDS | st.none(), min_size=1, max_size=60),
    st.dictionaries(st.integers(0, 200), st.integers(0, 5), max_size=40),
    TOTALS,
)
def test_the_longest_part_is_within_the_bound_of_list_scheduling(
    given_: dict[int, int | None], together: dict[int, int], total: int
) -> None:
    times = {str(number): float(value) for number, value in given_.items() if value is not None}
    groups = {str(number): f"group {name}" for number, name in together.items()}
    found = divide([str(number) for number in given_], total, seconds=times, groups=groups)
    ordered = sorted(times.values())
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if ordered else 1.0
    weights: Counter[str] = Counter()
    known: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for name in found.tests:
        item = groups.get(name, name)
        weights[item] += times.get(name, middle)  # type: ignore[assignment]
        (known if name in times else unknown)[item] += 1
    # What a group's unknown tests add is not looked at where most of the group is known: they come on top.
    on_top = [0.0] * total
    for item, part in {
        groups.get(name, name): part for name, part in zip(found.tests, found.parts, strict=True)
    }.items():
        if 0 < unknown[item] <= known[item]:
            on_top[part] += unknown[item] * middle
    bound = sum(weights.values()) / total + max(weights.values()) * (1 - 1 / total)
    assert all(load <= bound + extra + 1e-5 for load, extra in zip(found.estimated, on_top, strict=True))


@settings(deadline=None)
@given(st.integers(1, 300), TOTALS)
def test_tests_without_times_are_counted_out_evenly(count: int, total: int) -> None:
    found = divide([f"test_{number}" for number in range(count)], total, seconds={})
    sizes = [len(found.of(index)) for index in range(1, total + 1)]
    assert max(sizes) - min(sizes) <= 1
    assert found.known == 0
    assert found.estimated == tuple(map(float, sizes))


def test_what_has_no_time_fills_up_what_the_long_ones_leave() -> None:
    tests = ["long", *(f"new_{number}" for number in range(10)), *(f"short_{number}" for number in range(3))]
    found = divide(tests, 3, seconds={"long": 8.0, "short_0": 1.0, "short_1": 1.0, "short_2": 1.0})
    assert found.estimated == (8.0, 7.0, 6.0)


def test_a_group_of_which_most_is_known_stays_where_its_known_tests_put_it() -> None:
    times = {"a1": 3.0, "a2": 3.0, "b": 5.0, "c": 4.0}
    before = divide(list(times), 2, seconds=times, groups={"a1": "a", "a2": "a"})
    after = divide([*times, "a3"], 2, seconds=times, groups={"a1": "a", "a2": "a", "a3": "a"})
    assert list(after.parts[:4]) == list(before.parts)
    assert after.parts[4] == after.parts[0]


def test_a_group_of_which_most_is_unknown_is_weighed_whole() -> None:
    times = {"a1": 2.0, "b": 5.0, "c": 2.0, "d": 2.0}
    tests = [*times, "a2", "a3", "a4"]
    found = divide(tests, 2, seconds=times, groups={name: "a" for name in tests if name.startswith("a")})
    assert {frozenset(found.of(1)), frozenset(found.of(2))} == {
        frozenset({"a1", "a2", "a3", "a4"}),
        frozenset({"b", "c", "d"}),
    }


def _loads(seconds: list[int], parts: tuple[int, ...], total: int) -> list[int]:
    loads = [0] * total
    for value, part in zip(seconds, parts, strict=True):
        loads[part] += value
    return loads
