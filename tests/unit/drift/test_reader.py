"""`drift.json` read without trust: whatever is in the file, nothing raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.drift import markdown, telling
from stackproof.evidence import drift

_SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["breaking", "new-field"])
_ANY = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))
_KEYS = st.sampled_from(
    ["compared", "counts", "totals", "differences", "unrecorded", "not_asked", "refused", "damaged", "left_out"]
)
_ENTRY = st.dictionaries(
    st.sampled_from(
        ["kind", "severity", "where", "request", "recorded", "observed", "again", "calls", "file", "scope"]
    ),
    _ANY,
)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 2}', '{"schema": 1, "kind": "live"}', "\x00"])
def test_what_is_no_drift_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "drift.json"
    path.write_text(text)
    assert drift.read(path) is None
    assert drift.read(tmp_path / "other.json") is None
    assert drift.read(tmp_path) is None


@given(st.dictionaries(_KEYS, _ANY | st.lists(_ENTRY, max_size=3)), st.integers(0, 9))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_in_the_file_can_raise(data: dict[str, Any], compared: int) -> None:
    found = drift.of({"schema": 1, "kind": "drift", "compared": compared, **data})
    if found is None:
        return
    for line in telling.lines(found, more="x", everything=True):
        assert "\n" not in line
    assert markdown.report([("cell", found)], run="abc").startswith("### Drift: ")
    json.dumps(found.breaking + found.additive + found.note)
