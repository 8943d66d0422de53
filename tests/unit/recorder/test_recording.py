"""The file format: every kind of body comes back, an equal answer leaves the file alone, a damaged file is named."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import recording
from stackproof.recorder.recording import DamagedRecordingError

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
)


def _recording(**response: Any) -> recording.Recording:
    head = {"status": 200, "headers": {"content-type": "application/json"}, "is_streaming": False}
    tail = {"complete": True, "is_exception": False, "exception": None}
    body = {} if "events" in response else {"body": {"json": {"a": 1}}}
    return {
        "format": 1,
        "test_id": "tests/integration/base/test_a.py::test_a",
        "scope": "tests/integration/base/test_a.py::test_a",
        "request": {"provider": "ollama", "method": "POST", "path": "/chat/completions", "query": [], "body": None},
        "response": {**head, **body, **tail, **response},
        "rules": [],
        "provenance": {"recorded_at": "2026-01-01T00:00:00+00:00"},
        "id_normalization_mapping": {},
    }


# -- bodies


@pytest.mark.parametrize(
    ("content_type", "raw", "kept_as"),
    [
        ("application/json", '{"b":1.5,"a":[null,"é"]}'.encode(), "json"),
        ("application/problem+json; charset=utf-8", b'{"a":9007199254740993}', "json"),
        ("application/json", b'{"a":"\\ud83d"}', "json"),
        ("application/json", b'{"a":1,"a":2}', "text"),
        ("application/json", b"NaN", "text"),
        ("application/json", b"[" * 200 + b"]" * 200, "text"),
        ("application/json", b"{cut off", "text"),
        ("application/json", b"\xff", "base64"),
        ("text/plain", "wörter\r\n".encode(), "text"),
        ("text/html", b"\x00\x01", "text"),
        ("audio/mpeg", b"\xff\xfb\x90\x00" * 9, "base64"),
        ("", b"plain", "text"),
    ],
)
def test_a_body_comes_back_as_the_bytes_that_it_was(content_type: str, raw: bytes, kept_as: str) -> None:
    kept = recording.encode_body(content_type, raw)
    assert kept is not None
    assert list(kept) == [kept_as]
    assert recording.decode_body(json.loads(recording.dumps(kept))) == raw


def test_no_body_is_null() -> None:
    assert recording.encode_body("application/json", b"") is None
    assert recording.decode_body(None) == b""
    assert list(recording.chunks_of({"body": None})) == []


@given(st.binary(min_size=1), st.sampled_from(["application/json", "text/plain", "image/png"]))
def test_whatever_the_bytes_are_nothing_is_lost(raw: bytes, content_type: str) -> None:
    kept = recording.encode_body(content_type, raw)
    assert kept is not None
    decoded = recording.decode_body(kept)
    assert json.loads(decoded) == json.loads(raw) if "json" in kept else decoded == raw


@given(JSON_VALUES)
def test_the_file_reads_back_as_what_was_written(value: Any) -> None:
    assert json.dumps(json.loads(recording.dumps(value))) == json.dumps(value)


# -- what a diff shows


def test_numbers_in_a_row_and_events_take_one_line_each() -> None:
    shown = recording.dumps(
        {"embedding": [0.1, -2, 3e-05], "events": [{"data": {"a": [1]}}, {"text": "é"}], "empty": [], "none": {}}
    )
    assert shown == (
        '{\n  "embedding": [0.1, -2, 3e-05],\n  "events": [\n    {"data": {"a": [1]}},\n    {"text": "é"}\n  ],\n'
        '  "empty": [],\n  "none": {}\n}\n'
    )


def test_keys_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), _recording(body={"json": {"z": 1, "a": 2}}))
    text = path.read_text()
    assert text.index('"format"') < text.index('"request"') < text.index('"response"') < text.index('"provenance"')
    assert text.index('"z"') < text.index('"a": 2')
    assert text.endswith("}\n")


def test_half_of_a_surrogate_pair_leaves_the_file_readable_for_everybody(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), _recording(body={"json": {"delta": "\ud83d"}}))
    assert '"\\ud83d"' in path.read_bytes().decode("utf-8")
    found = recording.read(str(path))
    assert found is not None
    assert found["response"]["body"] == {"json": {"delta": "\ud83d"}}


# -- writing


def test_an_equal_answer_leaves_the_file_untouched(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    assert recording.write(str(path), _recording())
    before = path.read_bytes(), path.stat().st_mtime_ns
    again = {**_recording(), "provenance": {"recorded_at": "2027-07-07"}, "id_normalization_mapping": {"rec-1": "x"}}
    assert not recording.write(str(path), again)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_where_the_network_cut_a_stream_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    cut = [{"data": 1, "cut": [3]}, {"data": 2, "joined": True}]
    assert recording.write(str(path), _recording(framing="sse", events=cut))
    assert not recording.write(str(path), _recording(framing="sse", events=[{"data": 1}, {"data": 2}]))
    assert recording.write(str(path), _recording(framing="sse", events=[{"data": 1}, {"data": 3}]))


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["response"].update(status=201),
        lambda value: value["response"].update(body={"json": {"a": 2}}),
        lambda value: value["response"]["headers"].update({"retry-after": "1"}),
        lambda value: value["response"].update(complete=False),
        lambda value: value["request"].update(body={"json": 1}),
        lambda value: value.update(scope="another"),
    ],
)
def test_a_different_answer_replaces_the_file(tmp_path: Path, change: Callable[[Any], None]) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), _recording())
    changed = copy.deepcopy(_recording())
    change(changed)
    assert recording.write(str(path), changed)
    assert recording.read(str(path)) == changed


def test_dates_of_models_are_no_change_of_a_model_list(tmp_path: Path) -> None:
    def listed(created: int, name: str = "m") -> recording.Recording:
        value = _recording(body={"json": {"data": [{"id": name, "created": created}, "odd"]}})
        value["request"]["path"] = "/models"
        return value

    path = tmp_path / "a.json"
    assert recording.write(str(path), listed(1))
    assert not recording.write(str(path), listed(2))
    assert recording.write(str(path), listed(2, "n"))


@pytest.mark.parametrize("body", [None, {"text": "x"}, {"json": [1]}, {"json": None}, {"json": {"data": 3}}])
def test_a_model_list_of_an_unknown_shape_is_written_all_the_same(tmp_path: Path, body: Any) -> None:
    value = _recording(body=body)
    value["request"]["path"] = "/models"
    path = str(tmp_path / "a.json")
    assert recording.write(path, value)
    assert not recording.write(path, value)


def test_a_damaged_file_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("<<<<<<< ours")
    assert recording.write(str(path), _recording())
    assert recording.read(str(path)) == _recording()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), _recording())
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise interruption

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(interruption):
        recording.write(str(path), _recording(status=500))
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]


def test_what_a_killed_process_left_behind_does_not_stop_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    # The process dies before it can clean up; the next one has the same process id, as in a container.
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        patch.setattr(os, "unlink", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            recording.write(str(tmp_path / "a.json"), _recording())
    assert recording.write(str(tmp_path / "a.json"), _recording())


# -- reading


def test_no_file_is_no_recording(tmp_path: Path) -> None:
    assert recording.read(str(tmp_path / "a.json")) is None


def _without(*keys: str) -> Any:
    value: Any = copy.deepcopy(_recording())
    owner = value
    for key in keys[:-1]:
        owner = owner[key]
    del owner[keys[-1]]
    return value


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"format": 1, "requ',
        "[]",
        "null",
        "[" * 100_000,
        "{}",
        "NaN",
        b"\xff\xfe\x00",
        _without("format"),
        _without("request"),
        _without("response"),
        _without("response", "status"),
        _without("response", "headers"),
        _without("response", "complete"),
        _without("response", "is_exception"),
        _without("response", "body"),
        {**_recording(), "format": 2},
        {**_recording(), "format": "1"},
        _recording(body={"json": float("nan")}),
        _recording(body={"mystery": 1}),
        _recording(body={"base64": "no base64!"}),
        _recording(body={"base64": 3}),
        _recording(body="text"),
        _recording(framing="sse", events=None),
        _recording(framing="sse", events=[{"cut": [1]}]),
        _recording(framing="smoke", events=[]),
        _recording(is_exception=True),
        _recording(status="200"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "0a-1b.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DamagedRecordingError, match=r"0a-1b\.json"):
        recording.read(str(path))


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(DamagedRecordingError, match=r"a\.json"):
        recording.read(str(tmp_path / "a.json"))


def test_a_newer_format_is_called_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"format": 7, "exchange": {}}')
    with pytest.raises(DamagedRecordingError, match="format 7; this version reads format 1"):
        recording.read(str(path))


def test_class_names_in_a_file_are_data(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    recording.write(str(path), _recording(body={"json": {"__type__": "os.system", "args": ["true"]}}))
    found = recording.read(str(path))
    assert found is not None
    assert recording.decode_body(found["response"]["body"]) == b'{"__type__":"os.system","args":["true"]}'


# -- the edges of chunks


@given(st.binary(), st.lists(st.integers(-5, 400)))
def test_cutting_loses_nothing(raw: bytes, offsets: list[int]) -> None:
    pieces = recording.cut_at(raw, offsets)
    assert b"".join(pieces) == raw
    assert all(pieces[:-1])


def test_a_stream_is_replayed_in_the_chunks_that_it_came_in() -> None:
    events = [{"data": 1}, {"data": 2, "joined": True, "cut": [4]}, {"data": 3}]
    chunks = list(recording.chunks_of({"framing": "sse", "events": events}))
    assert chunks == [b"data: 1\n\ndata", b": 2\n\n", b"data: 3\n\n"]
