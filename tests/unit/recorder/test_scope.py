"""Whose call it is, and how that travels to a server in a header that may hold other things."""

from __future__ import annotations

import json
import threading
from contextvars import copy_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.recorder import scope as scopes
from stackproof.recorder.scope import HEADER_LIMIT, Scope, from_header, to_header

NAME = "tests/integration/base/test_a.py::test_b[ä-🙂]"
JSON_KEYS = st.text(max_size=6).filter(lambda key: not key.startswith("__"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.text(min_size=1, max_size=60),
    other=st.none() | st.text(min_size=1, max_size=60),
    attempt=st.integers(1, 9),
    worker=st.sampled_from(["", "gw0", "gw11"]),
    foreign=st.dictionaries(JSON_KEYS, st.text(max_size=9) | st.integers() | st.none(), max_size=3),
)
def test_a_scope_comes_back_and_foreign_keys_stay(
    tmp_path: Path, *, name: str, other: str | None, attempt: int, worker: str, foreign: dict[str, object]
) -> None:
    owner = Scope(name=other or name, test_id=name, attempt=attempt, worker=worker)
    value = to_header(owner, json.dumps(foreign) if foreign else None, str(tmp_path))
    value.encode("ascii")
    found, rest = from_header(value, str(tmp_path))
    assert found == owner
    assert json.loads(rest or "{}") == foreign


def test_a_plain_test_needs_one_field(tmp_path: Path) -> None:
    assert json.loads(to_header(Scope(name="a.py::b", test_id="a.py::b"), None, str(tmp_path))) == {
        "__test_id": "a.py::b"
    }


def test_a_long_id_travels_as_a_digest(tmp_path: Path) -> None:
    owner = Scope(name="fixture:x::y", test_id=NAME + "x" * HEADER_LIMIT, worker="gw1")
    value = to_header(owner, '{"key": "kept"}', str(tmp_path))
    assert len(value) < 200
    assert set(json.loads(value)) == {"key", "__scope_ref"}
    assert from_header(value, str(tmp_path)) == (owner, '{"key": "kept"}')
    (file,) = (tmp_path / "scopes").iterdir()
    before = file.stat().st_mtime_ns
    # A second request does not touch the file that the server may be reading for the first.
    assert to_header(owner, '{"key": "kept"}', str(tmp_path)) == value
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["gone", "../../etc/passwd", "", 7, None])
def test_a_digest_that_leads_nowhere_is_no_scope(tmp_path: Path, name: object) -> None:
    (tmp_path / "scopes").mkdir()
    assert from_header(json.dumps({"__scope_ref": name, "k": 1}), str(tmp_path)) == (None, '{"k": 1}')


@pytest.mark.parametrize("value", [None, "", "{}", '{"key": "v", "n": [1]}', "no json", '"text"', "[1]", "[" * 9000])
def test_a_header_that_says_nothing_of_ours_is_handed_on_as_it_is(tmp_path: Path, value: str | None) -> None:
    assert from_header(value, str(tmp_path)) == (None, value)


@pytest.mark.parametrize("value", ["no json", '"text"', "[1]", "[" * 9000])
def test_what_is_no_object_cannot_be_merged_into_and_is_not_lost(tmp_path: Path, value: str) -> None:
    assert to_header(Scope(name="a", test_id="a"), value, str(tmp_path)) == value


@pytest.mark.parametrize("value", ['{"__test_id": ""}', '{"__test_id": 7}', '{"__scope": "x"}', '{"__attempt": 2}'])
def test_fields_of_ours_without_a_test_are_no_scope_and_go(tmp_path: Path, value: str) -> None:
    assert from_header(value, str(tmp_path)) == (None, None)


def test_odd_values_of_ours_are_read_as_absent(tmp_path: Path) -> None:
    value = '{"__test_id": "a", "__scope": 3, "__attempt": "x", "__worker": null}'
    assert from_header(value, str(tmp_path)) == (Scope(name="a", test_id="a"), None)


def test_an_outer_id_is_replaced_by_ours(tmp_path: Path) -> None:
    value = to_header(Scope(name="b", test_id="b"), '{"__test_id": "a", "k": 1}', str(tmp_path))
    assert from_header(value, str(tmp_path)) == (Scope(name="b", test_id="b"), '{"k": 1}')


def test_scopes_nest_and_end() -> None:
    outer, inner = Scope(name="outer"), Scope(name="inner")
    assert scopes.current() is None
    with scopes.use(outer):
        with scopes.use(inner):
            assert scopes.current() is inner
        assert scopes.current() is outer
        with scopes.use(None):
            assert scopes.current() is None
    assert scopes.current() is None


def test_the_process_scope_is_a_fallback_only() -> None:
    fallback, own = Scope(name="fallback"), Scope(name="own")
    seen: list[Scope | None] = []
    try:
        scopes.set_process_scope(fallback)
        with scopes.use(own):
            assert scopes.current() is own
            thread = threading.Thread(target=lambda: seen.append(scopes.carried()))
            thread.start()
            thread.join(60)
        assert scopes.current() is fallback
        assert scopes.carried() is None
    finally:
        scopes.set_process_scope(None)
    assert seen == [None]


def test_entering_lasts_as_long_as_the_context() -> None:
    context = copy_context()
    context.run(scopes.enter, Scope(name="x"))
    assert context.run(scopes.current) == Scope(name="x")
    assert scopes.current() is None


def test_what_is_shared() -> None:
    assert scopes.STACK.is_shared
    assert Scope(name="fixture:a::b").is_shared
    assert not Scope(name=NAME, test_id=NAME).is_shared


def test_lone_surrogates_in_an_id_have_a_digest() -> None:
    assert len(Scope(name="a[\ud83d]").digest) == 64
