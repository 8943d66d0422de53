"""What marks of a test ask for: in which order, and whose answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stackproof.errors import UsageError
from stackproof.plugin import faulting

NODE = "tests/integration/base/test_it.py::TestA::test_x[one]"


def _item(*marks: Any) -> Any:
    """An item whose marks are told as pytest does: the closest first."""
    return SimpleNamespace(nodeid=NODE, iter_markers=lambda _name: iter([mark.mark for mark in marks]))


def test_the_outermost_mark_comes_first_and_keywords_are_for_all_texts_of_a_mark() -> None:
    item = _item(pytest.mark.fault("cut:1"), pytest.mark.fault("refused", "status:500", times=1, of="test_y"))
    assert [fault.spec for fault in faulting.faults_of(item)] == ["refused,times=1", "status:500,times=1", "cut:1"]


@pytest.mark.parametrize(
    ("named", "of"),
    [
        ("test_y", "tests/integration/base/test_it.py::test_y"),
        ("TestB::test_y[a::b]", "tests/integration/base/test_it.py::TestB::test_y[a::b]"),
        ("tests/integration/base/test_other.py::test_y", "tests/integration/base/test_other.py::test_y"),
    ],
)
def test_whose_answers_it_gets_is_a_test_of_its_file_or_a_node_id(named: str, of: str) -> None:
    assert faulting.lender_of(_item(pytest.mark.fault("cut:1", of=named), pytest.mark.fault("cut:2", of=named))) == of
    assert faulting.lender_of(_item(pytest.mark.fault("cut:1"))) is None


def test_a_wrong_mark_names_its_test() -> None:
    for mark, says in (
        (pytest.mark.fault, "a mark 'fault' says no fault"),
        (pytest.mark.fault("cut:1", cal=2), "unknown keyword 'cal' in fault 'cut:1', did you mean 'call'?"),
        (pytest.mark.fault(7), "7 is no fault"),
    ):
        with pytest.raises(UsageError) as told:
            faulting.faults_of(_item(mark))
        assert told.value.message.startswith(f"{NODE}: ")
        assert says in told.value.message
