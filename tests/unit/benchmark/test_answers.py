"""What the benchmarks are answered with is as long as they say."""

from __future__ import annotations

import json

from stackproof.checks.benchmark_answers import EVENTS, FLOATS, TEXT, Kind, chunks, words


def test_a_stream_has_fifty_events_and_its_end_mark() -> None:
    assert len(words()) == EVENTS - 2
    assert "".join(words()) == TEXT * 12
    assert len(chunks(Kind.STREAMED)) == EVENTS + 1
    assert chunks(Kind.STREAMED)[-1] == b"data: [DONE]\n\n"


def test_an_embedding_has_768_numbers_that_read_back_as_they_are() -> None:
    (body,) = chunks(Kind.EMBEDDINGS)
    numbers = json.loads(body)["data"][0]["embedding"]
    assert len(numbers) == FLOATS
    assert json.dumps(numbers).encode() in body
