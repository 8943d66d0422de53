"""Times that other writers measured are the same facts, and are compared line by line on one machine."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.evidence import benchmark, benchmark_formats, jsonfile, machine
from stackproof.evidence.benchmark import BenchmarkFacts, BenchmarkLine
from stackproof.evidence.benchmark_changes import ChangeKind, compare

HERE = machine.Machine(processor="A processor", cpus=2, system="Linux 6.1 x86_64", python="CPython 3.11.7")
INFO = {
    "node": "h",
    "processor": "",
    "machine": "x86_64",
    "python_implementation": "CPython",
    "python_version": "3.11.7",
    "release": "6.1",
    "system": "Linux",
    "cpu": {"brand_raw": "A  processor", "count": 2, "arch": "X86_64"},
}


def stats(**more: object) -> dict[str, Any]:
    return {"min": 0.1, "max": 0.4, "mean": 0.2, "stddev": 0.1, "rounds": 7, "median": 0.2, "iqr": 0.1, **more}


def theirs(*benchmarks: object) -> dict[str, Any]:
    return {
        "machine_info": INFO,
        "commit_info": {"id": "abc", "dirty": True, "branch": "main"},
        "benchmarks": list(benchmarks),
        "datetime": "2026-01-01T00:00:00",
        "version": "5.1.0",
    }


def read(tmp_path: Path, data: object) -> benchmark_formats.Measured:
    path = tmp_path / "times.json"
    path.write_text(json.dumps(data))
    return benchmark_formats.read(path)


def test_a_file_of_pytest_benchmark_is_read_with_its_times_and_its_machine(tmp_path: Path) -> None:
    found = read(tmp_path, theirs({"name": "t", "fullname": "tests/b.py::t[1]", "stats": stats(data=[0.1, 0.2, 0.4])}))
    assert not found.damage
    assert found.facts is not None
    assert (found.facts.machine, found.facts.commit, found.facts.dirty) == (HERE, "abc", True)
    (line,) = found.facts.lines.values()
    assert (line.name, line.turns, line.place) == ("tests/b.py::t[1]", (0.1, 0.2, 0.4), "times.json: benchmarks[0]")
    assert line.words() == "median 200.0 ms, P95 400.0, max 400.0, 3 samples"


def test_without_single_times_it_is_what_the_file_says_of_them(tmp_path: Path) -> None:
    found = read(tmp_path, theirs({"fullname": "t", "stats": stats()}))
    assert found.facts is not None
    assert found.facts.lines["t"].words() == "median 200.0 ms, max 400.0, 7 samples"


def test_the_small_format_needs_a_name_and_seconds(tmp_path: Path) -> None:
    lines = [{"name": "a", "seconds": [0.2], "floor": [0.1]}, {"name": "b", "seconds": [1]}]
    found = read(tmp_path, {"kind": "times", "machine": "box", "date": "today", "lines": lines})
    assert not found.damage
    assert found.facts is not None
    assert found.facts.machine.words() == "box"
    assert {name: (line.turns, line.floor) for name, line in found.facts.lines.items()} == {
        "a": ((0.2,), (0.1,)),
        "b": ((1.0,), ()),
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"seconds": [1]}, "times.json: lines[1] is damaged: KeyError 'name'"),
        ({"name": "b", "seconds": [-1]}, "times.json: lines[1] is damaged: ValueError -1 are no seconds"),
        ({"name": "b", "seconds": [True]}, "times.json: lines[1] is damaged: ValueError True are no seconds"),
        ({"name": "b", "seconds": "12"}, "times.json: lines[1] is damaged: TypeError '12' is no list of seconds"),
        ({"name": "a", "seconds": [2]}, "times.json: lines[1] is a second 'a'; the first counts"),
        (7, "times.json: lines[1] is damaged: TypeError 'int' object is not subscriptable"),
    ],
)
def test_a_damaged_line_is_named_and_costs_no_other(tmp_path: Path, line: object, words: str) -> None:
    found = read(tmp_path, {"kind": "times", "lines": [{"name": "a", "seconds": [1]}, line]})
    assert found.damage == (words,)
    assert found.facts is not None
    assert list(found.facts.lines) == ["a"]


@pytest.mark.parametrize("data", [[], {}, {"kind": "benchmark"}, {"kind": "times"}, {"benchmarks": 3}, "x", None])
def test_a_file_that_holds_no_benchmarks_is_named(tmp_path: Path, data: object) -> None:
    found = read(tmp_path, data)
    assert found.facts is None
    assert found.damage[0].startswith("times.json ")


def test_our_own_file_is_read_by_the_same_reader(tmp_path: Path) -> None:
    facts = BenchmarkFacts(
        lines={"turns": BenchmarkLine(name="turns", turns=(0.2,), floor=(0.1,))}, machine=HERE, date="d"
    )
    jsonfile.write(tmp_path / "benchmark.json", benchmark.to_json(facts))
    assert benchmark_formats.read(tmp_path / "benchmark.json").facts == facts


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["kind", "lines", "benchmarks", "name", "fullname", "seconds", "stats", "data", "median", "max"]
            ),
            inner,
            max_size=5,
        ),
        st.dictionaries(
            st.sampled_from(["rounds", "machine_info", "cpu", "count", "floor", "machine", "commit_info"]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=15,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(JSON, st.sampled_from(["times", "benchmark", None]))
def test_any_json_gives_facts_or_a_named_damage(data: object, kind: str | None) -> None:
    if isinstance(data, dict) and kind is not None:
        data = {**data, "kind": kind}
    with tempfile.TemporaryDirectory() as folder:
        found = read(Path(folder), data)
    assert found.facts is not None or found.damage


def measured(times: dict[str, float], *, spread: float = 0.01, floor: float | None = None) -> BenchmarkFacts:
    lines = {}
    for name, middle in times.items():
        turns = tuple(middle * (1 + spread * (number - 10) / 10) for number in range(20))
        lines[name] = BenchmarkLine(name=name, turns=turns, floor=() if floor is None else (floor,) * 20)
    return BenchmarkFacts(lines=lines, machine=HERE, date="d")


def test_two_lines_are_never_an_average() -> None:
    found = compare(measured({"a": 1.4, "b": 0.6}), measured({"a": 1.0, "b": 1.0}))
    assert [change.words() for change in found.changes] == ["a: +40% in time, slower", "b: -40% in time, faster"]


def test_a_quarter_more_on_a_noisy_machine_is_within_the_noise() -> None:
    (change,) = compare(measured({"a": 1.26}, spread=0.9), measured({"a": 1.0}, spread=0.9)).changes
    assert change.kind is ChangeKind.NOISE


def test_the_ratio_to_the_floor_is_compared_where_both_have_one() -> None:
    # Everything takes twice as long now, the floor too.
    (change,) = compare(measured({"a": 2.0}, floor=0.2), measured({"a": 1.0}, floor=0.1)).changes
    assert change.words() == "a: +0% in ratio to the floor, within the noise"


def test_another_machine_is_not_comparable_and_both_are_named() -> None:
    there = replace(measured({"a": 1.0}), machine=replace(HERE, processor="Another"))
    found = compare(measured({"a": 1.0}), there)
    assert not found.changes
    assert found.not_comparable == f"not comparable: {there.machine.words()} then, {HERE.words()} now"


def test_machines_without_a_name_are_not_comparable() -> None:
    nobody = replace(measured({"a": 1.0}), machine=machine.UNKNOWN)
    assert compare(nobody, nobody).not_comparable is not None


def test_what_is_new_gone_or_has_too_few_samples_is_said() -> None:
    few = BenchmarkLine(name="few", turns=(1.0, 1.1), floor=())
    now = replace(measured({"new": 1.0}), lines={**measured({"new": 1.0}).lines, "few": few})
    then = replace(measured({"gone": 1.0}), lines={**measured({"gone": 1.0}).lines, "few": few})
    assert [(change.name, change.kind) for change in compare(now, then).changes] == [
        ("new", ChangeKind.NEW),
        ("few", ChangeKind.UNKNOWN),
        ("gone", ChangeKind.GONE),
    ]
