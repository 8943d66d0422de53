"""Of which fixtures a shard can say what is unused, and of which only all shards together can."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.shards import elsewhere

OTHERS = ("tests/a/test_x.py::TestX::test_1[a::b/c]", "tests/b/test_y.py::test_2")


@pytest.mark.parametrize(
    ("scope", "there"),
    [
        ("fixture:::made_by_a_plugin", True),
        ("fixture:.::of_the_outermost_conftest", True),
        ("fixture:tests::store", True),
        ("fixture:tests/a::store[red]", True),
        ("fixture:tests/a/test_x.py::store", True),
        ("fixture:tests/a/test_x.py::TestX::store", True),
        ("fixture:tests/a/test_x.py::TestOther::store", False),
        ("fixture:tests/a/test_z.py::store", False),
        ("fixture:tests/c::store", False),
        ("tests/b/test_y.py::test_2", False),
        ("stack", False),
    ],
)
def test_a_fixture_is_theirs_too_where_they_lie_below_it(scope: str, there: bool) -> None:
    assert elsewhere.has(scope, elsewhere.places(OTHERS)) is there


def test_it_is_read_as_it_was_written_and_a_whole_cell_has_none(tmp_path: Path) -> None:
    assert elsewhere.read(tmp_path) == frozenset()
    elsewhere.write(tmp_path, OTHERS)
    assert elsewhere.read(tmp_path) == elsewhere.places(OTHERS)
    elsewhere.write(tmp_path, ())
    assert elsewhere.read(tmp_path) == frozenset()
