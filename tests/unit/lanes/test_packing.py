"""How a lane is cut and packed: nothing is lost or doubled, nothing beats the bound, whole loads are never better."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.lanes import packing
from stackproof.lanes.packing import Load, Packed, bound, pack, took, undivided


def load(name: str, start: int, tests: Sequence[int], *, most: int | None = None) -> Load:
    """A cell whose tests take so long, dealt out longest first."""

    def parts(number: int) -> list[int]:
        taken = [0] * number
        for each in sorted(tests, reverse=True):
            taken[taken.index(min(taken))] += each
        return taken

    return Load(
        name=name,
        start=start,
        tests=sum(tests),
        longest=max(tests, default=0),
        most=max(1, len(tests) if most is None else most),
        parts=parts,
    )


CELLS = st.lists(
    st.tuples(st.integers(0, 40_000), st.lists(st.integers(0, 60_000), max_size=12), st.booleans()), max_size=8
).map(
    lambda given: [
        load(f"c{number}", start, tests) if divided else undivided(f"c{number}", start=start, tests=sum(tests))
        for number, (start, tests, divided) in enumerate(given)
    ]
)


@given(loads=CELLS, jobs=st.integers(1, 9))
@settings(deadline=None)
def test_every_load_is_there_in_all_its_parts_exactly_once(loads: list[Load], jobs: int) -> None:
    packed = pack(loads, jobs)
    assert len(packed.jobs) == jobs
    for each in loads:
        own = [piece for job in packed.jobs for piece in job if piece.name == each.name]
        of = {piece.of for piece in own}
        assert len(of) == 1
        (number,) = of
        assert number <= min(jobs, each.most)
        assert sorted(piece.part for piece in own) == list(range(1, number + 1))
        assert sum(piece.takes for piece in own) == number * each.start + each.tests


@given(loads=CELLS, jobs=st.integers(1, 9))
@settings(deadline=None)
def test_no_job_has_two_parts_of_one_load(loads: list[Load], jobs: int) -> None:
    for job in pack(loads, jobs).jobs:
        assert len({piece.name for piece in job}) == len(job)


@given(loads=CELLS, jobs=st.integers(1, 9))
@settings(deadline=None)
def test_a_plan_takes_no_less_than_the_bound_and_no_more_than_whole_loads(loads: list[Load], jobs: int) -> None:
    packed = pack(loads, jobs)
    assert packed.makespan >= bound(loads, jobs) == packed.bound
    whole = pack([undivided(each.name, start=each.start, tests=each.tests) for each in loads], jobs)
    assert packed.makespan <= whole.makespan


@given(loads=CELLS, jobs=st.integers(1, 9))
@settings(deadline=None)
def test_the_same_loads_make_the_same_plan(loads: list[Load], jobs: int) -> None:
    assert pack(loads, jobs) == pack(list(loads), jobs)


@given(loads=CELLS, jobs=st.integers(1, 9))
@settings(deadline=None)
def test_there_is_work_in_every_job_as_long_as_there_are_pieces(loads: list[Load], jobs: int) -> None:
    packed = pack(loads, jobs)
    pieces = sum(map(len, packed.jobs))
    if all(piece.takes for job in packed.jobs for piece in job):
        assert sum(1 for job in packed.jobs if job) == min(jobs, pieces)


def shape(packed: Packed) -> list[list[str]]:
    return [[f"{piece.name} {piece.part}/{piece.of}" for piece in job] for job in packed.jobs]


def test_a_long_cell_is_cut_and_short_ones_stay_whole() -> None:
    long = load("long", 1_000, [10_000] * 6)
    packed = pack([load("a", 1_000, [2_000]), load("b", 1_000, [3_000]), long], 2)
    assert packed.makespan == 35_000
    assert [took(job) for job in packed.jobs] == [35_000, 34_000]
    assert shape(packed) == [["b 1/1", "long 1/2"], ["a 1/1", "long 2/2"]]


def test_a_start_that_costs_more_than_it_saves_is_not_paid_twice() -> None:
    packed = pack([load("dear", 60_000, [1_000, 1_000]), load("other", 1_000, [50_000])], 2)
    assert shape(packed) == [["dear 1/1"], ["other 1/1"]]


def test_where_as_long_the_plan_with_fewest_pieces_is_taken() -> None:
    packed = pack([load("a", 0, [5_000, 5_000]), load("b", 0, [5_000, 5_000])], 2)
    assert shape(packed) == [["a 1/1"], ["b 1/1"]]


def test_more_jobs_than_pieces_leaves_jobs_with_nothing() -> None:
    packed = pack([load("a", 1_000, [5_000, 4_000])], 4)
    assert shape(packed) == [["a 1/2"], ["a 2/2"], [], []]
    assert packed.bound == 6_000


def test_what_is_not_divided_stays_in_one_piece_however_long_it_is() -> None:
    packed = pack([undivided("checks", tests=90_000), load("a", 1_000, [10_000] * 9)], 3)
    assert packed.makespan == 90_000 == packed.bound
    assert ["checks 1/1"] in shape(packed)


@pytest.mark.parametrize("jobs", [1, 3])
def test_nothing_to_do_is_a_plan_too(jobs: int) -> None:
    packed = pack([], jobs)
    assert (packed.jobs, packed.makespan, packed.bound) == (((),) * jobs, 0, 0)


def test_many_jobs_are_planned_at_once() -> None:
    loads = [load(f"c{number}", 5_000, [1_000 + number] * 400) for number in range(40)]
    packed = pack(loads, 4096)
    assert len(packed.jobs) == 4096
    assert packed.makespan < 1.2 * packed.bound


def test_a_cell_whose_tests_cannot_be_parted_stays_whole_in_spite_of_its_length() -> None:
    # As where all of them share a fixture, which is found out only where they are collected.
    stuck = Load(
        name="stuck", start=0, tests=800_000, longest=1, most=800, parts=lambda number: (800_000, *[0] * (number - 1))
    )
    assert shape(pack([stuck], 8)) == [["stuck 1/1"], [], [], [], [], [], [], []]


def test_a_part_goes_to_a_job_without_another_one_also_where_that_has_more_to_do() -> None:
    loads = [undivided("long", tests=100), load("cut", 1, [10, 10])]
    packed = packing._packed(loads, (1, 2), 2, 0)
    assert shape(packed) == [["long 1/1", "cut 2/2"], ["cut 1/2"]]
