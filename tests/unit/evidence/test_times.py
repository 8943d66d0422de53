"""What cells took is told by each clock for itself; that two of them agree is never relied on."""

from __future__ import annotations

import pytest

from stackproof.evidence.times import NO_TIMES, Span, of

DAY = "2026-12-01T"


def span(clock: str, started: str, stopped: str) -> Span:
    return Span(clock=clock, name=f"{clock} {started}", started=started, stopped=stopped)


def at(time: str) -> str:
    return f"{DAY}{time}+00:00"


def test_one_clock_knows_the_wall_time() -> None:
    took = of([span("a", at("10:00:00"), at("10:01:00")), span("a", at("10:01:30"), at("10:02:00"))])
    assert (took.wall, took.longest, took.summed, took.span, took.clocks) == (120, 120, 90, None, 1)
    assert took.words() == "120 s from the first start to the last end, 90 s of cells in all"
    assert (took.started, took.stopped) == (f"{DAY}10:00:00.000+00:00", f"{DAY}10:02:00.000+00:00")


def test_of_several_clocks_the_longest_is_what_it_took_at_least() -> None:
    took = of([span("a", at("10:00:00"), at("10:01:00")), span("b", at("10:00:50"), at("10:01:10"))])
    assert (took.wall, took.longest, took.summed, took.span) == (None, 60, 80, 70)
    said = "at least 60 s (the longest on one clock), 70 s from the first start to the last end if clocks agree, 80 s"
    assert took.words() == f"{said} of cells in all"


def test_a_clock_that_is_wrong_moves_neither_the_moment_nor_the_span() -> None:
    right = [span(clock, at("10:00:00"), at("10:01:00")) for clock in "ab"]
    for wrong in ("1970-01-01T00:00:", "2099-01-01T00:00:"):
        took = of([*right, span("c", f"{wrong}00+00:00", f"{wrong}50+00:00")])
        assert (took.longest, took.summed, took.span) == (60, 170, None)
        assert took.started == f"{DAY}10:00:00.000+00:00"


def test_what_ended_before_it_began_is_named_and_counts_nothing() -> None:
    took = of([span("a", at("10:00:00"), at("10:01:00")), span("b", at("10:00:00"), at("09:00:00"))])
    assert took.wrong == (f"b {at('10:00:00')}",)
    assert (took.summed, took.clocks) == (60, 1)


@pytest.mark.parametrize("text", ["", "soon", "2026-12-01T10:00:00", "10:00"])
def test_what_is_no_moment_counts_nothing(text: str) -> None:
    assert of([span("a", text, at("10:00:00")), span("a", at("10:00:00"), text)]) == NO_TIMES
    assert NO_TIMES.words() == ""


def test_no_year_is_too_far() -> None:
    ages = [span(str(number), "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00") for number in range(500)]
    took = of([*ages, *(span(f"b{n}", "9999-12-31T23:59:00+00:00", "9999-12-31T23:59:59+00:00") for n in range(900))])
    assert took.started == took.stopped == "9999-12-31T23:59:00.000+00:00"
    assert took.clocks == 1400
