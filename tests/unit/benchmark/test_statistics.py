"""Percentiles, intervals, gates and baselines, without a clock."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.checks import benchmark
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.machine import Machine
from stackproof.evidence.statistics import median, median_interval, nearest_rank

HERE = Machine(processor="p", cpus=2, system="s", python="y")


def line(factor: float, name: str = "turns", *, noise: float = 0.0, seed: int = 1) -> BenchmarkLine:
    chance = random.Random(seed)  # noqa: S311 - noise, no secret
    floor = tuple(0.01 * (1 + noise * chance.random()) for _ in range(20))
    turns = tuple(value * factor * (1 + noise * (chance.random() - 0.5)) for value in floor)
    return BenchmarkLine(name=name, turns=turns, floor=floor)


def facts(*lines: BenchmarkLine) -> BenchmarkFacts:
    return BenchmarkFacts(lines={each.name: each for each in lines}, machine=HERE, date="2026-12-01T10:00:00+00:00")


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(20, 0, -1)]
    assert nearest_rank(values, 95) == 19
    assert nearest_rank(values, 100) == 20
    assert nearest_rank(values, 0) == 1
    assert median(values) == 10.5
    assert median([3.0, 1.0, 2.0]) == 2


def test_twenty_samples_give_the_sixth_and_the_fifteenth() -> None:
    found = median_interval([float(number) for number in range(1, 21)])
    assert (found.low, found.high) == (6, 15)


@pytest.mark.parametrize("number", range(1, 6))
def test_too_few_samples_give_no_interval(number: int) -> None:
    found = median_interval([1.0] * number)
    assert (found.low, found.high) == (None, None)


@given(st.lists(st.floats(min_value=0.1, max_value=10), min_size=6, max_size=60))
def test_an_interval_holds_its_estimate_and_does_not_depend_on_order(values: list[float]) -> None:
    found = median_interval(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.estimate <= found.high
    assert median_interval(values[::-1]) == found


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    chance = random.Random(7)  # noqa: S311 - noise, no secret
    covered = 0
    for _ in range(1000):
        found = median_interval([chance.expovariate(1.0) for _ in range(20)])
        covered += (found.low or 0) <= 0.6931471805599453 <= (found.high or 0)
    assert covered >= 940


def test_noise_of_the_same_code_is_no_regression() -> None:
    lines = benchmark.lines(facts(line(1.15, noise=0.6)), {"turns": 1.2})
    assert lines[0].startswith("✓ benchmark turns")


def test_a_certain_excess_fails() -> None:
    assert benchmark.lines(facts(line(1.4)), {"turns": 1.2})[0].startswith("✗")


def test_two_benchmarks_are_two_lines_and_no_average() -> None:
    now = facts(line(1.4), line(0.6, "other"))
    then = facts(line(1.0), line(1.0, "other"))
    found = benchmark.compared(now, then)
    assert len(found) == 2
    assert "+40 %" in found[0]
    assert "-40 %" in found[1]


def test_another_machine_is_not_comparable_and_both_are_shown() -> None:
    there = replace(HERE, processor="q")
    found = benchmark.compared(facts(line(1.4)), replace(facts(line(1.0)), machine=there))
    assert "not comparable" in found[0]
    assert there.words() in found[1]
    assert HERE.words() in found[2]


def test_nothing_measured_is_not_proven() -> None:
    empty = replace(facts(), problem="the SDK is not installed")
    assert benchmark.lines(empty, {"turns": 1.2}) == ["? benchmark  not proven: the SDK is not installed"]
    assert BenchmarkLine(name="turns", turns=(0.0,) * 20, floor=(0.0,) * 20).ratio is None
