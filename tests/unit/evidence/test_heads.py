"""What the parts of a cell ended with, together."""

from __future__ import annotations

import pytest

from stackproof.evidence import heads


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([], None),
        ([0, 0], 0),
        ([0, None, 1], None),
        ([0, 6], 6),
        ([6, 1, 0], 1),  # tests that failed are worse than recordings that did
        ([1, 3, 6], 3),
        ([-9, 0], -9),
    ],
)
def test_the_worst_exit_code_is_that_of_the_whole(codes: list[int | None], code: int | None) -> None:
    assert heads.code(codes) == heads.code(reversed(codes)) == code


def test_of_very_many_runs_the_first_and_the_last_are_named() -> None:
    assert heads.runs(["b", "a", "b"]) == "a+b"
    assert heads.runs([]) is None
    assert heads.runs(f"{number:03}" for number in range(200)) == "000+…+199 (200 runs)"
