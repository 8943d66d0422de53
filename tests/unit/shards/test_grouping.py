"""Which tests stay together, and that no more do than have to."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from stackproof.shards.grouping import Member, form


def member(nodeid: str, fixtures: Mapping[str, str] | None = None, *marks: str) -> Member:
    return Member(nodeid=nodeid, fixtures=fixtures or {}, marks=marks)


def sets(members: list[Member], *together: str) -> set[frozenset[str]]:
    names = form(members, together).names
    return {frozenset(test for test, name in names.items() if name == group) for group in set(names.values())}


ONE, TWO = member("a/test_x.py::TestA::test_1"), member("a/test_x.py::TestA::test_2[p::q]")
THREE, FOUR = member("a/test_x.py::test_3"), member("b/test_y.py::test_4")


def test_without_a_wish_nothing_stays_together() -> None:
    assert form([ONE, TWO, THREE, FOUR], ()).names == {}


def test_a_module_is_a_file() -> None:
    every = [ONE, TWO, THREE, FOUR]
    assert (
        sets(every, "module")
        == sets(every, "file")
        == {frozenset(m.nodeid for m in (ONE, TWO, THREE)), frozenset({FOUR.nodeid})}
    )


def test_a_class_is_one_whatever_its_parameters_hold_and_other_tests_are_free() -> None:
    assert sets([ONE, TWO, THREE, FOUR], "class") == {frozenset({ONE.nodeid, TWO.nodeid})}


def test_tests_with_one_set_up_of_a_fixture_stay_together() -> None:
    red, blue = {"store": "store[red]"}, {"store": "store[blue]"}
    members = [member("t::1", red), member("t::2", blue), member("u::3", red), member("u::4")]
    assert sets(members, "fixture:store") == {frozenset({"t::1", "u::3"}), frozenset({"t::2"})}


def test_what_two_tests_share_with_a_third_binds_all_three() -> None:
    members = [member("t::1", {"db": "db"}), member("u::2", {"db": "db"}), member("u::3"), member("v::4")]
    assert sets(members, "module", "fixture:db") == {frozenset({"t::1", "u::2", "u::3"}), frozenset({"v::4"})}


def test_marks_of_xdist_count_without_being_asked_for() -> None:
    members = [
        member("t::1", None, "one"),
        member("u::2", None, "one", "two"),
        member("v::3", None, "two"),
        member("v::4"),
    ]
    assert sets(members) == {frozenset({"t::1", "u::2", "v::3"})}


def test_a_wish_that_meets_nothing_is_told() -> None:
    assert form([THREE, FOUR], ("class", "module", "fixture:nope")).unmet == ("class", "fixture:nope")
    assert form([], ("module",)).unmet == ("module",)


TESTS = st.lists(
    st.builds(
        lambda file, name, fixtures, marks: Member(nodeid=f"{file}.py::{name}", fixtures=fixtures, marks=tuple(marks)),
        st.sampled_from("abc"),
        st.integers(0, 99),
        st.dictionaries(st.sampled_from(["f", "g"]), st.sampled_from("xy"), max_size=2),
        st.lists(st.sampled_from("mn"), max_size=2),
    ),
    unique_by=lambda member: member.nodeid,
    max_size=20,
)


@given(TESTS, st.randoms())
def test_the_order_of_the_tests_changes_no_name(members: list[Member], random: object) -> None:
    ways = ("file", "fixture:f", "fixture:g")
    shuffled = list(members)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert form(members, ways).names == form(shuffled, ways).names


@given(TESTS)
def test_groups_are_the_least_that_holds_what_is_shared(members: list[Member]) -> None:
    names = form(members, ("fixture:f",)).names
    for one in members:
        for other in members:
            if set(one.marks) & set(other.marks) or one.fixtures.get("f", 1) == other.fixtures.get("f", 2):
                assert names[one.nodeid] == names[other.nodeid]
    alone = [each for each in members if not each.marks and "f" not in each.fixtures]
    assert not {each.nodeid for each in alone} & names.keys()
