"""Nothing is searched for garbage while something is imported, and what somebody else chooses is left alone."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from stackproof import garbage


class Ring:
    """One that only a search finds, once nobody holds it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_nothing_is_searched_within_and_what_was_made_is_left_out_for_good() -> None:
    before, searched = gc.get_threshold(), []
    gc.callbacks.append(lambda phase, _: searched.append(phase))
    try:
        with garbage.no_search():
            kept = [Ring() for _ in range(20_000)]
        assert searched == []
    finally:
        gc.callbacks.pop()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() > len(kept)


def test_garbage_that_is_made_later_is_found() -> None:
    with garbage.no_search():
        pass
    found = []

    class Told(Ring):
        def __del__(self) -> None:
            found.append("found")

    Told()
    gc.collect()
    assert found == ["found"]


def test_what_the_code_within_chooses_stays() -> None:
    with garbage.no_search():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_an_error_within_leaves_it_as_before() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), garbage.no_search():
        _ = 1 / 0
    assert gc.get_threshold() == before
