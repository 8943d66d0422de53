"""Whatever mypy prints, and whatever a file of it holds, gives facts and no exception."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from stackproof.evidence import typecheck
from stackproof.evidence.typecheck import TypecheckState

LINE = st.sampled_from(
    [
        '{"file": "a.py", "line": 1, "column": 0, "message": "m", "hint": null, "code": "misc", "severity": "error"}',
        '{"file": "a.py", "line": 1, "message": "m", "severity": "note"}',
        '{"file": "a.py", "line": Infinity, "message": "m", "severity": "error"}',
        "LOG:  Found source:           BuildSource(path='a.py', module='a', has_text=False, base_dir=None)",
        r"LOG:  Found source:           BuildSource(path='\x', module='a', has_text=False, base_dir=None)",
        "Traceback (most recent call last):",
        "[]",
        "",
    ]
)
TEXT = st.lists(st.one_of(LINE, st.text(max_size=10)), max_size=5).map("\n".join)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([0, 1, 2, -9, 139]), TEXT, TEXT)
def test_any_output_is_a_success_errors_or_a_failure_with_its_reason(code: int, stdout: str, stderr: str) -> None:
    found = typecheck.interpret(exit_code=code, stdout=stdout, stderr=stderr, project=Path())
    assert (found.state is TypecheckState.TOOL_FAILURE) == (found.reason is not None)
    assert (found.state is TypecheckState.ERRORS) <= bool(found.errors)
    if found.state is TypecheckState.SUCCESS:
        assert found.files
        assert not found.errors


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["schema", "kind", "state", "exit_code", "messages", "files", "roots", "unchecked"]),
        st.one_of(
            st.just(1), st.just("typecheck"), st.just("success"), st.floats(), st.lists(st.integers(), max_size=2)
        ),
    )
)
def test_any_json_is_facts_or_nothing(data: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "typecheck.json"
        path.write_text(json.dumps(data))
        found = typecheck.read(path)
    assert found is None or data["kind"] == "typecheck"
