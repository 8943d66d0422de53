"""What a fault leaves of a body: its place does not depend on where the network cut the body."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.faults import grammar
from stackproof.recorder import events
from stackproof.recorder.decision import Answer
from stackproof.recorder.inject import body, dialect

SSE = (
    b": hello\n\n",
    b'event: a\ndata: {"type":"a"}\n\n',
    b'data: {"b": "\xc3\xa9\xc3\xa9"}\r\n\r\n',
    b"data: [DONE]\n\n",
)
LINES = (b'{"n":1}\n', b'{"n":2}\n', b'{"n":3,"done":true}\n')
TYPES = {"sse": "text/event-stream; charset=utf-8", "ndjson": "application/x-ndjson"}


def _answer(chunks: list[bytes], content_type: str, **more: Any) -> Answer:
    return body.settled(Answer(status=200, headers={"content-type": content_type}, chunks=chunks, n=1, **more))


def _changed(answer: Answer, spec: str, path: str = "/chat/completions") -> tuple[Answer | None, list[str]]:
    met: list[str] = []
    return body.changed(answer, grammar.parse(spec, where=""), path, lambda: met.append(spec)), met


def _cut(whole: bytes, places: set[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(whole) + 1) for place in places), len(whole)]
    return [piece for start, end in itertools.pairwise(edges) if (piece := whole[start:end])]


@given(st.sets(st.integers(0, 200), max_size=12), st.integers(0, 5), st.sampled_from(["sse", "ndjson"]))
def test_a_cut_is_after_so_many_events_wherever_the_chunks_end(places: set[int], number: int, framing: str) -> None:
    parts = SSE if framing == "sse" else LINES
    answer = _answer(_cut(b"".join(parts), places), TYPES[framing])
    changed, met = _changed(answer, f"cut:{number}")
    if number > len(parts):
        assert changed is None
        return
    assert changed is not None
    assert met == []
    assert b"".join(changed.chunks) == b"".join(parts[:number])
    assert len(met) == 1
    assert (changed.exception or {})["kind"] == "RemoteProtocolError"


@given(st.sets(st.integers(0, 200), max_size=12), st.integers(1, 4))
def test_one_event_is_damaged_and_its_neighbours_are_not(places: set[int], number: int) -> None:
    answer = _answer(_cut(b"".join(SSE), places), TYPES["sse"])
    changed, met = _changed(answer, f"damage:{number}")
    assert changed is not None
    splitter = events.Splitter("sse")
    found = splitter.feed(b"".join(changed.chunks))
    assert len(met) == 1
    assert changed.exception is None
    assert [one for at, one in enumerate(found, 1) if at != number] == [*SSE[: number - 1], *SSE[number:]]
    assert len(found[number - 1]) < len(SSE[number - 1])


@pytest.mark.parametrize(("framing", "raw"), [("sse", SSE[1]), ("sse", SSE[2]), ("ndjson", LINES[2])])
def test_what_is_damaged_is_no_json_any_more_and_still_ends(framing: Any, raw: bytes) -> None:
    damaged = body.damaged(framing, raw)
    assert raw.startswith(damaged.rstrip(b"\r\n"))
    assert damaged[len(damaged.rstrip(b"\r\n")) :] == raw[len(raw.rstrip(b"\r\n")) :]
    data = damaged.partition(b"data:")[2] or damaged
    with pytest.raises(ValueError, match=r"."):
        json.loads(data)


def test_a_stall_has_its_wait_before_the_next_event_and_changes_no_byte() -> None:
    changed, met = _changed(_answer([b"".join(SSE[:3]), SSE[3]], TYPES["sse"]), "stall:1,2.5")
    assert changed is not None
    assert list(changed.paced()) == [(0.0, SSE[0]), (2.5, SSE[1] + SSE[2]), (0.0, SSE[3])]
    assert met == ["stall:1,2.5"]


def test_a_reader_that_leaves_before_it_has_not_met_it() -> None:
    changed, met = _changed(_answer(list(SSE), TYPES["sse"]), "cut:2")
    assert changed is not None
    chunks = iter(changed.chunks)
    next(chunks)
    next(chunks)
    assert met == []
    assert list(chunks) == []
    assert met == ["cut:2"]


def test_what_the_provider_did_itself_comes_after_a_stall_and_not_after_a_cut() -> None:
    broken = _answer(list(LINES), TYPES["ndjson"], exception={"kind": "ReadError", "message": "reset"})
    assert (_changed(broken, "stall:3,1")[0] or broken).exception == {"kind": "ReadError", "message": "reset"}
    cut, _ = _changed(broken, "cut:3")
    assert cut is not None
    assert cut.exception == {"kind": "RemoteProtocolError", "message": body.CUT}
    ended, _ = _changed(broken, "error-event:2")
    assert ended is not None
    assert ended.exception is None


@pytest.mark.parametrize("spec", ["damage:1", "error-event:1"])
def test_a_body_that_is_no_stream_has_no_events(spec: str) -> None:
    assert _changed(_answer([b'{"a":1}'], "application/json"), spec)[0] is None


def test_only_what_is_longer_can_be_truncated_and_no_stream() -> None:
    answer = _answer([b'{"a":', b'"b"}'], "application/json")
    changed, _ = _changed(answer, "truncate:6")
    assert changed is not None
    assert list(changed.chunks) == [b'{"a":', b'"']
    assert _changed(answer, "truncate:9")[0] is None
    assert _changed(_answer(list(SSE), TYPES["sse"]), "truncate:3")[0] is None


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/chat/completions", dialect.Wire.CHAT),
        ("/completions", dialect.Wire.CHAT),
        ("/responses", dialect.Wire.RESPONSES),
        ("/v1/messages", dialect.Wire.MESSAGES),
        ("/v1/messages/count_tokens", dialect.Wire.MESSAGES),
        ("/api/chat", dialect.Wire.OLLAMA),
        ("/v1beta/models/gemini-2.0-flash:streamGenerateContent", dialect.Wire.GOOGLE),
        ("/rerank", dialect.Wire.CHAT),
    ],
)
def test_the_path_tells_whose_words_an_error_is_in(path: str, wire: dialect.Wire) -> None:
    assert dialect.wire_of(path) is wire
    told = json.loads(dialect.error_body(wire, 529))
    assert "a fault that was injected" in json.dumps(told)
    event = dialect.error_event(wire, "sse", 4)
    assert events.Splitter("sse").feed(event) == [event]
    assert json.loads(event.partition(b"data: ")[2])


def test_anthropics_statuses_have_anthropics_types() -> None:
    types = {
        code: json.loads(dialect.error_body(dialect.Wire.MESSAGES, code))["error"]["type"] for code in (429, 500, 529)
    }
    assert types == {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
