"""Whatever a client streams comes back equal, whatever it was asked; whatever changes in a request is noticed."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.unit.trace.conftest import Scripted

from stackproof.recorder import redact
from stackproof.trace import (
    CancelToken,
    Completed,
    Message,
    ModelEvent,
    ModelRequest,
    RecordingModelClient,
    ReplayModelClient,
    TextDelta,
    ToolCall,
    TraceMismatchError,
    read,
)
from stackproof.trace.events import decode, encode
from stackproof.trace.fingerprint import fingerprint_of, form_of
from stackproof.trace.hiding import hidden_events

TEXTS = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=4)
ITEMS = st.lists(OBJECTS, max_size=2).map(tuple)
EVENTS = st.one_of(
    st.builds(TextDelta, text=TEXTS),
    st.builds(Message, text=TEXTS, items=ITEMS),
    st.builds(ToolCall, call_id=TEXTS, name=TEXTS, arguments=TEXTS, items=ITEMS),
)
COMPLETED = st.builds(Completed, response_id=st.none() | TEXTS, usage=st.none() | OBJECTS)
REQUESTS = st.builds(
    ModelRequest,
    instructions=st.none() | TEXTS,
    history=st.lists(OBJECTS, max_size=4).map(tuple),
    tools=st.lists(OBJECTS, max_size=3).map(tuple),
    step_sequence=st.integers(0, 9),
    tool_generation=st.integers(0, 9),
    model=TEXTS,
)
ANSWERS = st.tuples(st.lists(EVENTS, max_size=6), COMPLETED).map(lambda both: (*both[0], both[1]))
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def sent(client: Any, request: ModelRequest) -> list[ModelEvent]:
    async def listen() -> list[ModelEvent]:
        return [event async for event in client.stream(request, CancelToken())]

    return asyncio.run(listen())


@pytest.mark.parametrize("name", ["talk.jsonl", "talk.jsonl.zst"])
@FEW
@given(exchanges=st.lists(st.tuples(REQUESTS, ANSWERS), min_size=1, max_size=3))
def test_record_and_replay_give_what_was_streamed(
    name: str, exchanges: list[tuple[ModelRequest, tuple[ModelEvent, ...]]]
) -> None:
    for _, answer in exchanges:
        made = [encode(event) for event in answer]
        assume(hidden_events(made, {}) == made)  # what is hidden, by names of fields too, comes back hidden
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        recording = RecordingModelClient(Scripted(answers=[answer for _, answer in exchanges]), path)
        for request, answer in exchanges:
            assert sent(recording, request) == list(answer)
        with ReplayModelClient(path) as replay:
            for request, answer in exchanges:
                assert sent(replay, request) == list(answer)
        assert [line.exchange and line.exchange.model for line in read(path).lines] == [
            request.model for request, _ in exchanges
        ]


@FEW
@given(one=REQUESTS, other=REQUESTS)
def test_two_requests_have_one_fingerprint_only_if_they_are_equal(one: ModelRequest, other: ModelRequest) -> None:
    texts = [json.dumps(form_of(request), sort_keys=True).replace("-0.0", "0.0") for request in (one, other)]
    assert (fingerprint_of(form_of(one)) == fingerprint_of(form_of(other))) == (texts[0] == texts[1])


@FEW
@given(request=REQUESTS)
def test_the_fingerprint_is_that_of_the_standard_library(request: ModelRequest) -> None:
    form = form_of(request)
    text = json.dumps(form, sort_keys=True, separators=(",", ":"))
    if "-0.0" not in text:
        assert fingerprint_of(form) == sha256(text.encode()).hexdigest()


@FEW
@given(request=REQUESTS, item=OBJECTS)
def test_one_more_item_of_history_is_a_mismatch(request: ModelRequest, item: dict[str, Any]) -> None:
    longer = ModelRequest(
        instructions=request.instructions,
        history=(*request.history, item),
        tools=request.tools,
        step_sequence=request.step_sequence,
        tool_generation=request.tool_generation,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "talk.jsonl"
        sent(RecordingModelClient(Scripted(), path), request)
        with pytest.raises(TraceMismatchError, match=rf"differs in 1 place\n +history\[{len(request.history)}\]"):
            sent(ReplayModelClient(path), longer)


@FEW
@given(event=EVENTS | COMPLETED)
def test_every_event_is_read_as_it_was_written(event: ModelEvent) -> None:
    assert decode(json.loads(json.dumps(encode(event)))) == event


@FEW
@given(
    cuts=st.lists(st.integers(0, 60), max_size=6),
    before=st.text(alphabet="ab \n", max_size=10),
    behind=st.text(alphabet="ab \n", max_size=10),
)
def test_a_key_is_hidden_wherever_the_text_is_cut(cuts: list[int], before: str, behind: str) -> None:
    whole = f"{before} sk-abcdefghij0123456789klmn {behind}"
    edges = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    pieces = [whole[start:end] for start, end in itertools.pairwise(edges)]
    events = [{"type": "text_delta", "text": piece} for piece in pieces]
    kept = "".join(event["text"] for event in hidden_events(events, {}))
    assert kept == f"{before} *** {behind}"
    assert redact.find(kept, {}) is None
