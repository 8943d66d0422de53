"""A body that is neither JSON nor a stream of events is replayed in the chunks in which it came."""

from __future__ import annotations

from typing import Any

from stackproof.recorder import recording
from stackproof.recorder.normalise import Ids
from stackproof.recorder.take import Take


def take_of(chunks: list[bytes], content_type: str) -> tuple[list[bytes], dict[str, Any]]:
    ended: list[dict[str, Any]] = []
    take = Take(Ids("0" * 64, 1), ended.append)
    take.start(200, {"content-type": content_type}, {"content-type": content_type})
    released = [piece for chunk in chunks for piece in take.feed(chunk)]
    return released + take.end(), ended[0]


def test_binary_chunks_keep_their_edges() -> None:
    chunks = [b"\xff\xfb\x90\x00", b"\x00" * 7, b"end"]
    released, response = take_of(chunks, "audio/mpeg")
    assert released == chunks
    assert response["cut"] == [4, 11]
    assert list(recording.chunks_of(response)) == chunks


def test_one_chunk_needs_no_edges() -> None:
    _, response = take_of([b"all at once"], "text/plain")
    assert "cut" not in response
    assert list(recording.chunks_of(response)) == [b"all at once"]


def test_json_is_rewritten_as_a_whole_and_has_no_edges() -> None:
    released, response = take_of([b'{"a"', b": 1}"], "application/json")
    assert released == [b'{"a":1}']
    assert "cut" not in response


def test_edges_do_not_make_an_answer_a_different_one(tmp_path: Any) -> None:
    request: dict[str, Any] = {"provider": "p", "method": "GET", "path": "/x", "query": [], "body": None}
    base = {"format": 1, "test_id": "t", "scope": "t", "request": request, "rules": [], "provenance": {}}
    path = str(tmp_path / "r.json")
    _, first = take_of([b"ab", b"cd"], "audio/mpeg")
    _, second = take_of([b"a", b"bcd"], "audio/mpeg")
    assert recording.write(path, {**base, "response": first}) is True
    assert recording.write(path, {**base, "response": second}) is False
