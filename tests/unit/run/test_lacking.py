"""Which tests a stack's `lacks` is about, and the words that they are skipped with."""

from __future__ import annotations

import pytest

from stackproof.plugin.lacking import VARIABLE, Lacking

LACKS = '{"tests/base/test_a.py": "a", "tests/b/": "b", "tests/base/test_c.py::test_one": "c"}'


@pytest.mark.parametrize(
    ("nodeid", "reason"),
    [
        ("tests/base/test_a.py::test_x", "shop lacks a"),
        ("tests/base/test_a.py::TestIt::test_x[1]", "shop lacks a"),
        ("tests/base/test_ab.py::test_x", None),
        ("tests/b/deep/test_x.py::test_x", "shop lacks b"),
        ("tests/bc/test_x.py::test_x", None),
        ("tests/base/test_c.py::test_one", "shop lacks c"),
        ("tests/base/test_c.py::test_one[x]", "shop lacks c"),
        ("tests/base/test_c.py::test_one_more", None),
    ],
)
def test_a_place_is_a_file_a_folder_or_a_test(nodeid: str, reason: str | None) -> None:
    for mode in ("server", "docker"):
        found = Lacking.of({VARIABLE: LACKS, "STACKPROOF_STACK": f"{mode}:shop"})
        assert found is not None
        assert found.reason(nodeid) == reason


def test_a_stack_that_has_everything_needs_no_hook() -> None:
    assert Lacking.of({}) is None
