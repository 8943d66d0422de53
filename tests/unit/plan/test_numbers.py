"""Numbers that a person reads and types again: all of their digits."""

from __future__ import annotations

import math

import pytest

from stackproof.plaintext import number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (60, "60"),
        (60.0, "60"),
        (0.5, "0.5"),
        (0.25, "0.25"),
        (1_234_567, "1234567"),
        (1_234_567.0, "1234567"),
        (1_234_567.5, "1234567.5"),
        (10**17 + 1, "100000000000000001"),
        (-3.0, "-3"),
        (math.inf, "inf"),
    ],
)
def test_a_number_loses_nothing(value: float, shown: str) -> None:
    assert number(value) == shown
