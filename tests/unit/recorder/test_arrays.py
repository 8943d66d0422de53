"""Long arrays of numbers reach the caller as the numbers that they are, and what is no such array is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import arrays, recording
from stackproof.recorder.canonical import compact

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LONG = st.lists(NUMBERS, min_size=1, max_size=20).map(lambda some: some * 900)
LINES = [f'"embedding": [{"1.5, " * 200}2.5],', f"[{'1, ' * 300}2]"]
# Texts that look like a line with an array, and are none.
TEXTS = st.sampled_from([*LINES, "\n".join(["", *LINES, ""]), "NaN", '"NaN"']) | st.text(max_size=5)
VALUES = st.recursive(
    TEXTS | NUMBERS | LONG, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


def kept(tmp_path: Path, body: Any) -> Path:
    path = tmp_path / "a.json"
    response = {
        "status": 200, "headers": {}, "body": {"json": body}, "complete": True, "is_exception": False,
        "exception": None,
    }  # fmt: skip
    path.write_text(recording.dumps({"format": 1, "request": {"body": {"json": body}}, "response": response}))
    return path


def replayed(path: Path) -> bytes:
    found = recording.read_to_replay(str(path))
    assert found is not None
    return b"".join(recording.chunks_of(found["response"]))


@given(VALUES)
def test_the_bytes_are_those_of_the_value(value: Any) -> None:
    text = recording.dumps(value)
    found, _ = arrays.read(text)
    assert arrays.compact(found) == compact(value)


def test_a_recording_with_an_embedding_gives_the_bytes_that_it_always_gave(tmp_path: Path) -> None:
    body = {"data": [{"embedding": [0.1, -2e-07, 3] * 300, "text": LINES[0]}], "more": [[1.5] * 900, [2] * 700]}
    path = kept(tmp_path, body)
    found = recording.read(str(path))
    assert found is not None
    assert found["response"]["body"] == {"json": body}
    assert replayed(path) == b"".join(recording.chunks_of(found["response"])) == compact(body)


def test_numbers_keep_their_spelling(tmp_path: Path) -> None:
    path = kept(tmp_path, {"embedding": [0.5] * 900})
    path.write_text(path.read_text().replace("0.5, 0.5,", "0.50, 5E-1,", 1))
    assert path.read_text().count("0.50") == 1
    assert json.loads(replayed(path))["embedding"] == [0.5] * 900


@pytest.mark.parametrize("wrong", ["0.5.1", "00.5", ".5", "0.5 0.5", "+0.5", "0.5,", "-", "0.e5"])
def test_an_array_of_something_else_is_damage(tmp_path: Path, wrong: str) -> None:
    path = kept(tmp_path, {"embedding": [0.5] * 900})
    text = path.read_text()
    path.write_text(f"{wrong}, ".join(text.rsplit("0.5, ", 1)))
    assert path.read_text() != text
    for read in (recording.read, recording.read_to_replay):
        with pytest.raises(recording.DamagedRecordingError, match=r"a\.json cannot be read as a recording"):
            read(str(path))


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("place", ['"body": ', '"complete": '])
def test_what_json_does_not_have_is_damage_beside_an_array_too(tmp_path: Path, name: str, place: str) -> None:
    path = kept(tmp_path, {"embedding": [0.5] * 900})
    text = path.read_text()
    for changed in (text.replace(place, f'"x": {name}, {place}'), text.replace("0.5, 0.5", f"0.5, {name}", 1)):
        path.write_text(changed)
        with pytest.raises(recording.DamagedRecordingError, match="cannot be read as a recording"):
            recording.read_to_replay(str(path))


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert recording.read_to_replay(str(tmp_path / "none.json")) is None
