"""Whatever lies in a run folder, a verdict over it is published: hours of tests are not lost for a page."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.verdict_outputs.conftest import Made, example

from stackproof.evidence import jsonfile

ODD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(
            ["2026-12-01T10:20:00", "2026-12-01T10:20:00+00:00", "0001-01-01", "9999-12-31T23:59:59-23:00"]
        ),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
FILES = (
    "cells/base-ollama-server-reference/result.json",
    "checks/benchmark.json",
    "checks/recordings.json",
    "steps.json",
    "../000001/verdict.json",
    "../000001/checks/benchmark.json",
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something could be changed in it."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def changed(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at that place."""
    if not place:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[place[0]] = changed(data[place[0]], place[1:], value)
    return copy


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(draw=st.data())
def test_a_file_with_anything_in_it_costs_nothing_but_what_it_said(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = Made(folder=Path(folder) / "000001", more={"run_id": "000001", "stopped": "2026-11-01T00:00:00+00:00"})
        example(before, "pass").publish()
        made = example(Made(folder=Path(folder) / "7f3c2a"), "fail")
        jsonfile.write(made.folder / "steps.json", {"schema": 1, "seconds": {"types": 3.0}})
        path = made.folder / draw.draw(st.sampled_from(FILES))
        data = json.loads(path.read_text())
        # Something near the top, or anywhere.
        found = places(data)
        place = (
            draw.draw(st.sampled_from(found[:40])) if draw.draw(st.booleans()) else draw.draw(st.sampled_from(found))
        )
        path.write_text(json.dumps(changed(data, place, draw.draw(ODD))))
        assert "1 rule of 8 failed." in made.page()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(more=st.dictionaries(st.sampled_from(["run_id", "commit", "policy", "started", "stopped", "as_of"]), st.text()))
def test_a_verdict_with_odd_texts_is_published(more: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = example(Made(folder=Path(folder) / "7f3c2a", more=more), "fail")
        assert "1 rule of 8 failed." in made.page()


@pytest.mark.parametrize("series", ["turns", "floor"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308, 5e-324, -1.0, 0.0])
def test_a_time_that_is_none_is_not_drawn(made: Made, series: str, value: float) -> None:
    path = example(made, "fail").folder / "checks/benchmark.json"
    data = json.loads(path.read_text())
    data["lines"][0][series][3] = value
    path.write_text(json.dumps(data))
    (made.folder / "steps.json").write_text('{"schema": 1, "seconds": {"types": Infinity}}')
    page = made.page()
    assert "turns" in page
    assert '="nan"' not in page
    assert '="inf"' not in page


@pytest.mark.parametrize(("key", "value"), [("processor", 3), ("cpus", "two"), ("system", None), ("python", [])])
def test_a_machine_that_is_none_is_as_good_as_no_benchmark(made: Made, key: str, value: object) -> None:
    path = example(made, "fail").folder / "checks/benchmark.json"
    data = json.loads(path.read_text())
    data["machine"][key] = value
    path.write_text(json.dumps(data))
    assert 'id="benchmarks"' not in made.page()
