"""What becomes of a call: in every mode, for every scope, and when something is wrong."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.recorder.conftest import ASK

from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, PassThrough
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

OTHER = {"model": "m", "messages": [{"role": "user", "content": "ho"}]}


STREAM = b'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n'


# -- modes


def test_live_lets_every_call_pass(bench: Any) -> None:
    assert bench.ask(bench.brain(Mode.LIVE), bench.request(ASK)) == PassThrough(headers={})
    assert not bench.run_dir.exists()


def test_what_was_recorded_is_what_is_replayed(bench: Any) -> None:
    recorder = bench.brain(Mode.RECORD)
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "choices": []}
    given = bench.play(bench.ask(recorder, bench.request(ASK)), answer)
    assert json.loads(given)["created"] == 0
    recorder.store.promote(bench.owner(), replace=True)
    replayed = bench.ask(bench.brain(Mode.REPLAY, run="-2"), bench.request(ASK))
    assert bench.body(replayed) == given
    assert (replayed.status, replayed.headers) == (200, {"content-type": "application/json"})


def test_nothing_is_in_place_before_the_test_has_passed(bench: Any) -> None:
    recorder = bench.brain(Mode.RECORD)
    bench.play(bench.ask(recorder, bench.request(ASK)), {"a": 1})
    assert bench.files() == []
    assert recorder.store.drop(bench.owner()) == 1
    assert recorder.store.promote(bench.owner(), replace=False) == (0, 0)


def test_the_file_says_everything_but_the_host(bench: Any) -> None:
    bench.record((ASK, {"a": 1}), path="/chat/completions?api-version=1&key=AIzaXYZ")
    (name,) = bench.files()
    text = (bench.recordings / "base" / name).read_text()
    found = json.loads(text)
    assert found["request"]["url"] == "{OLLAMA_URL}/chat/completions?api-version=1&key=***"
    assert found["request"]["model"] == "m"
    assert found["request"]["headers"] == {}
    assert found["provenance"]["sdk"] == "sdk/1"
    assert "11434" not in text
    assert "localhost" not in text


def test_host_spelling_and_other_headers_change_nothing(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.REPLAY)
    headers = {"content-type": "application/json", "user-agent": "sdk/9", "authorization": "Bearer other"}
    request = bench.request(ASK, url="http://127.0.0.1:11434/v1/chat/completions", headers=headers)
    assert bench.body(bench.ask(brain, request)) == b'{"a":1}'


def test_recording_an_equal_answer_again_leaves_the_file_alone(bench: Any) -> None:
    bench.record((ASK, {"id": "chatcmpl-1", "object": "chat.completion", "created": 1}))
    (path,) = (bench.recordings / "base").iterdir()
    before = path.read_bytes(), path.stat().st_mtime_ns
    bench.record((ASK, {"id": "chatcmpl-2", "object": "chat.completion", "created": 2}))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_record_if_missing_replays_what_is_there_and_records_the_rest(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    before = {path.name: path.read_bytes() for path in (bench.recordings / "base").iterdir()}
    brain = bench.brain(Mode.RECORD_IF_MISSING)
    assert bench.body(bench.ask(brain, bench.request(ASK))) == b'{"a":1}'
    bench.play(bench.ask(brain, bench.request(OTHER)), {"b": 1})
    bench.play(bench.ask(brain, bench.request(ASK)), {"a": 2})
    assert brain.store.promote(bench.owner(), replace=False) == (2, 0)
    replay = bench.brain(Mode.REPLAY, run="-2")
    assert [bench.body(bench.ask(replay, bench.request(each))) for each in (ASK, OTHER, ASK)] == [
        b'{"a":1}',
        b'{"b":1}',
        b'{"a":2}',
    ]
    assert all((bench.recordings / "base" / name).read_bytes() == content for name, content in before.items())


def test_other_hosts_pass_through_untouched(bench: Any) -> None:
    for url in ("http://localhost:9/v1/chat", "https://example.org/", "http://localhost:114340/v1"):
        assert bench.ask(bench.brain(Mode.REPLAY), bench.request(ASK, url=url)) == PassThrough(headers={})


def test_a_token_endpoint_is_answered_with_a_dummy_and_never_recorded(bench: Any) -> None:
    request = bench.request(ASK, url="https://oauth2.googleapis.com/token")
    assert json.loads(bench.body(bench.ask(bench.brain(Mode.REPLAY), request)))["token_type"] == "Bearer"
    assert bench.ask(bench.brain(Mode.RECORD), request) == PassThrough(headers={})


# -- repeats


def test_equal_requests_are_answered_in_the_order_of_their_recording(bench: Any) -> None:
    bench.record((ASK, {"status": "in_progress"}), (ASK, {"status": "completed"}))
    brain = bench.brain(Mode.REPLAY)
    said = [bench.body(bench.ask(brain, bench.request(ASK))) for _ in range(2)]
    assert said == [b'{"status":"in_progress"}', b'{"status":"completed"}']
    kind, text = bench.refusal(bench.ask(brain, bench.request(ASK)))
    assert kind == "exhausted"
    assert "recorded 2, asked for number 3" in text


def test_a_conversation_that_grew_is_another_request(bench: Any) -> None:
    longer = {**ASK, "messages": [*ASK["messages"], {"role": "tool", "content": "x"}]}
    bench.record((ASK, {"turn": 1}), (longer, {"turn": 2}))
    brain = bench.brain(Mode.REPLAY)
    assert bench.body(bench.ask(brain, bench.request(longer))) == b'{"turn":2}'
    assert bench.body(bench.ask(brain, bench.request(ASK))) == b'{"turn":1}'


def test_a_test_that_runs_again_starts_anew(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.REPLAY)
    for attempt in (1, 2, 3):
        owner = bench.owner(attempt=attempt)
        assert bench.body(bench.ask(brain, bench.request(ASK), owner)) == b'{"a":1}'


def test_threads_never_get_one_answer_twice(bench: Any) -> None:
    bench.record(*((ASK, {"n": number}) for number in range(20)))
    brains = [bench.brain(Mode.REPLAY) for _ in range(4)]
    said: list[bytes] = []

    def ask(brain: Brain) -> None:
        said.extend(bench.body(bench.ask(brain, bench.request(ASK))) for _ in range(5))

    threads = [threading.Thread(target=ask, args=(brain,)) for brain in brains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(said) == sorted(b'{"n":%d}' % number for number in range(20))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans(), st.integers(1, 2)), max_size=30))
def test_no_interleaving_hands_out_one_answer_twice(bench: Any, steps: list[tuple[int, bool, bool, int]]) -> None:
    owners = [bench.owner(), bench.owner("tests/integration/base/test_chat.py::test_other")]
    if not bench.files():
        for owner in owners:
            pairs = [(body, {"n": n, "of": name}) for n in range(4) for name, body in (("ask", ASK), ("other", OTHER))]
            bench.record(*pairs, owner=owner)
    run = f"-{len(bench.brains)}"
    brains = [bench.brain(Mode.REPLAY, run=run) for _ in range(3)]
    handed: dict[tuple[str, int, str], list[int]] = {}
    for who, is_second, is_other, attempt in steps:
        owner = Scope(name=owners[is_second].name, test_id=owners[is_second].name, attempt=attempt)
        key = (owner.name, attempt, "other" if is_other else "ask")
        said = bench.ask(brains[who], bench.request(OTHER if is_other else ASK), owner)
        if said.status == 424:
            assert bench.refusal(said)[0] == "exhausted"
            assert len(handed[key]) == 4
            continue
        told = json.loads(bench.body(said))
        assert told["of"] == key[2]
        handed.setdefault(key, []).append(told["n"])
    assert all(numbers == list(range(len(numbers))) for numbers in handed.values())


# -- what is kept


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 502, 529])
def test_what_a_key_or_a_bad_minute_did_is_not_kept_unless_asked_for(bench: Any, status: int) -> None:
    brain = bench.brain(Mode.RECORD)
    bench.play(bench.ask(brain, bench.request(ASK)), {"error": status}, status)
    assert brain.store.staged(bench.owner()) == []
    asked = bench.brain(Mode.RECORD, run="-2", record_errors=True)
    bench.play(bench.ask(asked, bench.request(ASK)), b"slow down", status, content_type="text/plain", retry_after="2")
    asked.store.promote(bench.owner(), replace=True)
    replayed = bench.ask(bench.brain(Mode.REPLAY, run="-3"), bench.request(ASK))
    assert (replayed.status, bench.body(replayed)) == (status, b"slow down")
    # The wait is on file; the SDK is told not to wait.
    assert (replayed.headers["retry-after"], replayed.headers["retry-after-ms"]) == ("2", "1")


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_what_the_provider_says_to_this_request_is_kept(bench: Any, status: int) -> None:
    bench.record()
    brain = bench.brain(Mode.RECORD)
    bench.play(bench.ask(brain, bench.request(ASK)), {"error": status}, status)
    brain.store.promote(bench.owner(), replace=True)
    replayed = bench.ask(bench.brain(Mode.REPLAY, run="-2"), bench.request(ASK))
    assert replayed.status == status
    assert "retry-after-ms" not in replayed.headers


def test_an_exception_is_kept_only_when_asked_for(bench: Any) -> None:
    told = {"kind": "ConnectError", "message": "refused"}
    for run, wanted in (("", False), ("-2", True)):
        brain = bench.brain(Mode.RECORD, run=run, record_errors=wanted)
        decision = bench.ask(brain, bench.request(ASK))
        decision.take.fail(told)
        assert len(brain.store.staged(bench.owner())) == wanted
        brain.store.promote(bench.owner(), replace=True)
    replayed = bench.ask(bench.brain(Mode.REPLAY, run="-3"), bench.request(ASK))
    assert (replayed.status, replayed.exception, bench.body(replayed)) == (None, told, b"")


def test_three_events_and_a_reset_come_back_as_three_events_and_a_reset(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD, record_errors=True)
    decision = bench.ask(brain, bench.request(ASK))
    decision.take.start(200, {"content-type": "text/event-stream"}, {"content-type": "text/event-stream"})
    decision.take.feed(b"data: 1\n\ndata: 2\n\ndata: 3\n\n")
    decision.take.fail({"kind": "ReadError", "message": "reset"})
    brain.store.promote(bench.owner(), replace=True)
    replayed = bench.ask(bench.brain(Mode.REPLAY, run="-2"), bench.request(ASK))
    assert bench.body(replayed) == b"data: 1\n\ndata: 2\n\ndata: 3\n\n"
    assert replayed.exception == {"kind": "ReadError", "message": "reset"}


def test_a_caller_that_leaves_before_there_is_an_answer_leaves_nothing(bench: Any) -> None:
    for wanted in (False, True):
        brain = bench.brain(Mode.RECORD, record_errors=wanted)
        bench.ask(brain, bench.request(ASK)).take.close()
        assert brain.store.staged(bench.owner()) == []
        assert brain.ledger.calls_in_flight(bench.owner()) == 0


def test_an_empty_event_stream_is_no_recording(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD)
    bench.play(bench.ask(brain, bench.request(ASK)), b"", content_type="text/event-stream")
    assert brain.store.staged(bench.owner()) == []
    dropped = [entry for entry in brain.ledger.read("calls")[0] if entry["kind"] == "dropped"]
    assert dropped[0]["reason"] == "an empty event stream is no answer"


def test_what_is_not_kept_takes_no_number(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD)
    for status, answer in ((429, {}), (200, {"n": 1}), (500, {}), (200, {"n": 2})):
        bench.play(bench.ask(brain, bench.request(ASK)), answer, status)
    assert brain.store.promote(bench.owner(), replace=True) == (2, 0)
    replay = bench.brain(Mode.REPLAY, run="-2")
    assert [bench.body(bench.ask(replay, bench.request(ASK))) for _ in range(2)] == [b'{"n":1}', b'{"n":2}']


def test_a_stream_that_the_caller_left_replays_what_was_read(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD)
    decision = bench.ask(brain, bench.request(ASK))
    decision.take.start(200, {"content-type": "text/event-stream"}, {"content-type": "text/event-stream"})
    decision.take.feed(STREAM[:20])
    decision.take.close()
    brain.store.promote(bench.owner(), replace=True)
    replay = bench.brain(Mode.REPLAY, run="-2")
    replayed = bench.ask(replay, bench.request(ASK))
    assert bench.body(replayed) == b'data: {"a":1}\n\n'
    assert replayed.read_on is not None
    text = replayed.read_on()
    assert "left this stream early" in text
    # record-if-missing would find the file and leave it as it is.
    assert text.endswith("--inference-mode record")
    assert [miss["kind"] for miss in replay.ledger.read("misses")[0]] == ["incomplete"]


# -- secrets


@pytest.mark.parametrize("where", ["request", "answer", "stream"])
def test_a_secret_is_refused_and_written_nowhere(bench: Any, where: str, tmp_path: Path) -> None:
    secret = bench.environ["SOME_KEY"]
    body = {"messages": [{"content": f"my key is {secret}"}]} if where == "request" else ASK
    answer: Any = {"text": f"is it {secret}?"} if where == "answer" else {"text": "no"}
    kind = "application/json"
    if where == "stream":
        answer, kind = f"data: {secret}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"
    brain = bench.brain(Mode.RECORD)
    given = bench.play(bench.ask(brain, bench.request(body)), answer, content_type=kind)
    assert (secret.encode() in given) == (where != "request")
    assert brain.store.staged(bench.owner()) == []
    (miss,) = brain.ledger.read("misses")[0]
    assert miss["kind"] == "secret"
    assert "SOME_KEY" in miss["message"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_text()]


def test_a_miss_shows_no_secret_either(bench: Any, tmp_path: Path) -> None:
    secret = bench.environ["SOME_KEY"]
    bench.record((ASK, {"a": 1}))
    request = bench.request({**ASK, "messages": [{"role": "user", "content": secret}]})
    kind, text = bench.refusal(bench.ask(bench.brain(Mode.REPLAY), request))
    assert kind == "no-match"
    assert secret not in text
    assert "***" in text
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_text()]


def test_fields_of_secret_names_are_masked_in_the_file_and_not_for_the_caller(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD)
    given = bench.play(bench.ask(brain, bench.request({"api_key": "one"})), {"client_secret": "ek_1", "n": 1})
    assert json.loads(given)["client_secret"] == "ek_1"
    brain.store.promote(bench.owner(), replace=True)
    replayed = bench.ask(bench.brain(Mode.REPLAY, run="-2"), bench.request({"api_key": "two"}))
    assert json.loads(bench.body(replayed)) == {"client_secret": "***", "n": 1}


def test_headers_outside_the_list_reach_no_file(bench: Any) -> None:
    # The transport chooses what is kept; the brain writes no header of the request at all.
    bench.record((ASK, {"a": 1}))
    (path,) = (bench.recordings / "base").iterdir()
    assert json.loads(path.read_text())["request"]["headers"] == {}


# -- settling


def test_what_nobody_reads_on_is_closed_when_the_test_is_over(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD)
    decision = bench.ask(brain, bench.request(ASK))
    decision.take.start(200, {"content-type": "text/event-stream"}, {"content-type": "text/event-stream"})
    decision.take.feed(b"data: 1\n\n")
    assert brain.ledger.calls_in_flight(bench.owner()) == 1
    del decision
    assert brain.settle(0.0) == 1
    assert brain.ledger.calls_in_flight(bench.owner()) == 0
    assert len(brain.store.staged(bench.owner())) == 1
    assert brain.settle(0.0) == 0


def test_the_debug_line_names_scope_file_and_folders(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.ask(bench.brain(Mode.REPLAY, debug=True), bench.request(ASK))
    told = capsys.readouterr().err
    assert "number 1" in told
    assert "not there" in told
    assert "common" in told


def test_the_process_scope_is_the_fallback_of_library_mode(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    brain = bench.brain(Mode.REPLAY)
    scopes.set_process_scope(bench.owner())
    said: list[Any] = []
    thread = threading.Thread(target=lambda: said.append(brain.ask(bench.request(ASK))))
    thread.start()
    thread.join(60)
    assert isinstance(said[0], Answer)
    assert bench.body(said[0]) == b'{"a":1}'
