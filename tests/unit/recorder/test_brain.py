"""What becomes of a call: in every mode, for every scope, and when something is wrong."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Later, PassThrough, Record
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, UNKNOWN, Scope

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
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
        thread.join(20)
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


# -- scopes


def test_a_call_outside_every_scope_belongs_to_the_stack(bench: Any) -> None:
    recorder = bench.brain(Mode.RECORD)
    bench.play(recorder.ask(bench.request(ASK)), {"a": 1})
    recorder.store.promote(STACK, replace=True)
    assert len(bench.files("common")) == 1
    assert bench.body(bench.brain(Mode.REPLAY, run="-2").ask(bench.request(ASK))) == b'{"a":1}'


def test_the_last_answer_of_the_stack_repeats(bench: Any) -> None:
    recorder = bench.brain(Mode.RECORD)
    for number in (1, 2):
        bench.play(recorder.ask(bench.request(ASK)), {"n": number})
    recorder.store.promote(STACK, replace=True)
    first, second = bench.brain(Mode.REPLAY, run="-2"), bench.brain(Mode.REPLAY, run="-2")
    said = [bench.body(brain.ask(bench.request(ASK))) for brain in (first, first, first, second, first)]
    assert said == [b'{"n":1}', *[b'{"n":2}'] * 4]


def test_a_background_loop_costs_two_reads_a_call(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = bench.brain(Mode.RECORD)
    bench.play(recorder.ask(bench.request(ASK)), {"n": 1})
    recorder.store.promote(STACK, replace=True)
    brain = bench.brain(Mode.REPLAY, run="-2")
    reads: list[str] = []
    find = brain.store.find

    def counting(*args: Any) -> Any:
        reads.append("x")
        return find(*args)

    monkeypatch.setattr(brain.store, "find", counting)
    for _ in range(50):
        bench.body(brain.ask(bench.request(ASK)))
    assert len(reads) <= 55


def test_a_call_without_scope_while_a_test_is_served_is_an_error(bench: Any) -> None:
    brain = bench.brain(Mode.REPLAY)
    brain.requests_with_scope = 1
    kind, text = bench.refusal(brain.ask(bench.request(ASK)))
    assert kind == "no-scope"
    assert "outside of any test's context" in text
    assert brain.ledger.read("misses")[0][0]["kind"] == "no-scope"


@pytest.mark.parametrize("mode", [Mode.REPLAY, Mode.RECORD, Mode.RECORD_IF_MISSING])
def test_a_request_to_the_stack_without_id_is_an_error_in_every_mode(bench: Any, mode: Mode) -> None:
    kind, text = bench.refusal(bench.ask(bench.brain(mode), bench.request(ASK), UNKNOWN))
    assert kind == "no-scope"
    assert "carried no test id" in text


def test_a_call_after_its_test_is_marked_late(bench: Any) -> None:
    bench.record((ASK, {"a": 1}), (ASK, {"a": 2}))
    brain = bench.brain(Mode.REPLAY)
    bench.ask(brain, bench.request(ASK))
    brain.ledger.end(bench.owner())
    bench.ask(brain, bench.request(ASK))
    assert [entry.get("late") for entry in brain.ledger.read("calls")[0]] == [None, True]


def test_one_test_never_gets_the_answer_of_another(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    kind, text = bench.refusal(
        bench.ask(bench.brain(Mode.REPLAY), bench.request(ASK), bench.owner("a/test_b.py::test_c"))
    )
    assert kind == "nothing-recorded"
    assert "nothing is recorded for a/test_b.py::test_c" in text


def test_requests_to_the_stack_carry_the_id_however_its_address_is_written(bench: Any) -> None:
    brain = bench.brain(Mode.REPLAY, stack_url="http://127.0.0.1:8321")
    for url in ("http://localhost:8321/v1/chat", "http://127.0.0.1:8321", "http://LOCALHOST:8321/?a=1"):
        request = bench.request(ASK, url=url, headers={"x-provider-data": '{"key": "v"}', "baggage": "a=b"})
        decision = bench.ask(brain, request)
        assert json.loads(decision.headers["X-Provider-Data"]) == {"key": "v", "__test_id": bench.owner().name}
        assert decision.headers["baggage"].startswith("a=b,stackproof.scope=tests%2Fintegration")
    for url in ("http://localhost:83210/", "http://localhost:8322/v1"):
        assert bench.ask(brain, bench.request(ASK, url=url)) == PassThrough(headers={})


# -- shared scopes

FIXTURE = "fixture:tests/integration/base::prepared"


def test_a_shared_scope_is_recorded_once_by_two_workers(bench: Any) -> None:
    first, second = bench.brain(Mode.RECORD), bench.brain(Mode.RECORD)
    sending = bench.ask(first, bench.request(ASK), Scope(name=FIXTURE, worker="gw0"))
    waiting = bench.ask(second, bench.request(ASK), Scope(name=FIXTURE, worker="gw1"))
    assert isinstance(sending, Record)
    assert isinstance(waiting, Later)
    assert waiting.poll() is None
    given = bench.play(sending, {"id": "chatcmpl-1", "object": "chat.completion"})
    assert bench.body(waiting.poll()) == given
    assert first.store.promote(Scope(name=FIXTURE), replace=True) == (1, 0)


def test_when_the_first_answer_is_not_kept_one_of_the_waiting_records(bench: Any) -> None:
    brains = [bench.brain(Mode.RECORD) for _ in range(3)]
    asked = [
        bench.ask(brain, bench.request(ASK), Scope(name=FIXTURE, worker=f"gw{number}"))
        for number, brain in enumerate(brains)
    ]
    bench.play(asked[0], {"error": "busy"}, 429)
    polled = [each.poll() for each in asked[1:]]
    assert sorted(type(each).__name__ for each in polled) == ["NoneType", "Record"]
    given = bench.play(next(each for each in polled if each is not None), {"n": 1})
    late = asked[1:][polled.index(None)].poll()
    assert bench.body(late) == given


def test_a_refused_secret_lets_the_next_worker_try(bench: Any) -> None:
    first, second = bench.brain(Mode.RECORD), bench.brain(Mode.RECORD)
    sending = bench.ask(first, bench.request(ASK), Scope(name=FIXTURE, worker="gw0"))
    waiting = bench.ask(second, bench.request(ASK), Scope(name=FIXTURE, worker="gw1"))
    bench.play(sending, {"text": bench.environ["SOME_KEY"]})
    assert isinstance(waiting.poll(), Record)


def test_a_model_list_in_a_shared_scope_keeps_nobody_waiting(bench: Any) -> None:
    first, second = bench.brain(Mode.RECORD), bench.brain(Mode.RECORD)
    sending = bench.ask(first, bench.request(path="/models"), Scope(name=FIXTURE, worker="gw0"))
    waiting = bench.ask(second, bench.request(path="/models"), Scope(name=FIXTURE, worker="gw1"))
    bench.play(sending, {"data": [{"id": "m"}]})
    assert isinstance(waiting.poll(), Record)


def test_every_worker_counts_a_shared_scope_for_itself(bench: Any) -> None:
    bench.record((ASK, {"n": 1}), (ASK, {"n": 2}), owner=Scope(name=FIXTURE))
    brain = bench.brain(Mode.REPLAY)
    for worker in ("gw0", "gw1"):
        owner = Scope(name=FIXTURE, worker=worker)
        assert [bench.body(bench.ask(brain, bench.request(ASK), owner)) for _ in range(2)] == [b'{"n":1}', b'{"n":2}']


# -- model lists


def test_model_lists_belong_to_no_test(bench: Any) -> None:
    bench.record((None, {"object": "list", "data": [{"id": "m", "created": 5}]}), path="/models")
    assert bench.files() == []
    (name,) = bench.files("common")
    assert name.startswith("models-")
    brain = bench.brain(Mode.REPLAY)
    for _ in range(3):
        replayed = bench.ask(brain, bench.request(path="/models"), bench.owner("x/test_y.py::test_z"))
        assert json.loads(bench.body(replayed))["data"] == [{"id": "m", "created": 5}]


def test_a_compressed_model_list_is_replayed_without_its_encoding(bench: Any) -> None:
    import gzip

    brain = bench.brain(Mode.RECORD)
    packed = gzip.compress(b'{"data":[{"id":"m"}]}')
    bench.play(bench.ask(brain, bench.request(path="/models")), packed, content_encoding="gzip")
    brain.store.promote_models()
    replayed = bench.ask(bench.brain(Mode.REPLAY), bench.request(path="/models"))
    assert "content-encoding" not in replayed.headers
    assert json.loads(bench.body(replayed)) == {"data": [{"id": "m"}]}


def test_a_model_list_of_an_unknown_shape_is_an_ordinary_answer(bench: Any) -> None:
    bench.record((None, ["m"]), path="/models")
    assert len(bench.files()) == 1
    assert bench.body(bench.ask(bench.brain(Mode.REPLAY), bench.request(path="/models"))) == b'["m"]'


# -- what is wrong


@pytest.mark.parametrize("content", ["", "<<<<<<< ours", '{"format": 1, "request": {}, "response": {"status": 200}}'])
@pytest.mark.parametrize("mode", [Mode.REPLAY, Mode.RECORD_IF_MISSING])
def test_a_damaged_file_is_a_named_miss_and_not_overwritten(bench: Any, mode: Mode, content: str) -> None:
    bench.record((ASK, {"a": 1}))
    (path,) = (bench.recordings / "base").iterdir()
    path.write_text(content)
    kind, text = bench.refusal(bench.ask(bench.brain(mode), bench.request(ASK)))
    assert kind == "damaged"
    assert path.name in text
    assert path.read_text() == content


def test_a_damaged_model_list_is_a_named_miss(bench: Any) -> None:
    bench.record((None, {"data": [{"id": "m"}]}), path="/models")
    (path,) = (bench.recordings / "common").iterdir()
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "response": {**found["response"], "body": {"text": "x"}}}))
    kind, text = bench.refusal(bench.ask(bench.brain(Mode.REPLAY), bench.request(path="/models")))
    assert kind == "damaged"
    assert path.name in text


def test_record_replaces_a_damaged_file(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    (path,) = (bench.recordings / "base").iterdir()
    path.write_text("half a fi")
    bench.record((ASK, {"a": 2}))
    assert bench.body(bench.ask(bench.brain(Mode.REPLAY), bench.request(ASK))) == b'{"a":2}'


def test_a_body_of_any_depth_is_answered_and_never_raises(bench: Any) -> None:
    for depth in (50, 99, 150, 900, 100_000):
        body = b"[" * depth + b"]" * depth
        kind, _ = bench.refusal(bench.ask(bench.brain(Mode.REPLAY), bench.request(body)))
        assert kind == "nothing-recorded"


# -- real ids

RESPONSE = {"id": "resp_67ccd2bed1ec8190b14f96", "object": "response", "output": []}


def test_ids_are_put_back_on_the_way_to_the_provider(bench: Any) -> None:
    brain, server = bench.brain(Mode.RECORD), bench.brain(Mode.RECORD)
    written = json.loads(bench.play(bench.ask(brain, bench.request({"input": "a"}, path="/responses")), RESPONSE))["id"]
    assert written.startswith("resp_rec-")
    body = {"input": "b", "previous_response_id": written}
    following = bench.ask(server, bench.request(body, path="/responses"))
    assert json.loads(following.body) == {"input": "b", "previous_response_id": RESPONSE["id"]}
    retrieved = bench.ask(server, bench.request(path=f"/responses/{written}"))
    assert retrieved.url.endswith(f"/responses/{RESPONSE['id']}")
    assert json.loads(bench.play(retrieved, RESPONSE))["id"] == written


def test_an_id_behind_a_replayed_answer_cannot_go_out(bench: Any) -> None:
    bench.record(({"input": "a"}, RESPONSE), path="/responses")
    brain = bench.brain(Mode.RECORD_IF_MISSING)
    written = json.loads(bench.body(bench.ask(brain, bench.request({"input": "a"}, path="/responses"))))["id"]
    kind, text = bench.refusal(bench.ask(brain, bench.request(path=f"/responses/{written}")))
    assert kind == "stale-id"
    assert text.endswith("--inference-mode record")


# -- rules


def test_a_rule_that_acted_is_named_in_the_file_and_one_that_did_not_is_not(bench: Any) -> None:
    rules = ({"name": "floats"}, {"name": "nulls"})
    brain = bench.brain(Mode.RECORD, rules=rules)
    bench.play(bench.ask(brain, bench.request({"temperature": 0.1234567})), {"a": 1})
    brain.store.promote(bench.owner(), replace=True)
    (path,) = (bench.recordings / "base").iterdir()
    found = json.loads(path.read_text())
    assert found["rules"] == ["floats"]
    assert len(found["request"]["unfolded"]) == 64
    replay = bench.brain(Mode.REPLAY, run="-2", rules=rules)
    assert bench.body(bench.ask(replay, bench.request({"temperature": 0.1234599, "stop": None}))) == b'{"a":1}'


@pytest.mark.parametrize("mode", [Mode.RECORD, Mode.RECORD_IF_MISSING])
def test_two_requests_that_only_a_rule_makes_equal_are_refused(bench: Any, mode: Mode) -> None:
    brains = [bench.brain(mode, rules=({"name": "floats"},)) for _ in range(2)]
    bench.play(bench.ask(brains[0], bench.request({"x": 3.1415926})), {"a": 1})
    bench.play(bench.ask(brains[1], bench.request({"x": 3.1415926})), {"a": 2})
    kind, text = bench.refusal(bench.ask(brains[1], bench.request({"x": 3.1415901})))
    assert kind == "folded"
    assert "rule floats" in text
    # Another test may fold as it likes.
    assert isinstance(bench.ask(brains[0], bench.request({"x": 3.1415901}), bench.owner("b.py::t")), Record)


def test_the_request_that_a_rule_left_alone_counts_too(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD, rules=({"name": "nulls"},))
    bench.play(bench.ask(brain, bench.request({"x": 1})), {"a": 1})
    assert bench.refusal(bench.ask(brain, bench.request({"x": 1, "y": None})))[0] == "folded"
    other = bench.brain(Mode.RECORD, run="-2", rules=({"name": "nulls"},))
    bench.play(bench.ask(other, bench.request({"x": 1, "y": None})), {"a": 1})
    assert "rule nulls" in bench.refusal(bench.ask(other, bench.request({"x": 1})))[1]


def test_a_rule_may_allow_it(bench: Any) -> None:
    brain = bench.brain(Mode.RECORD, rules=({"name": "floats", "repeat": "ordinal"},))
    bench.play(bench.ask(brain, bench.request({"at": 1.0000001})), {"a": 1})
    bench.play(bench.ask(brain, bench.request({"at": 1.0000002})), {"a": 2})
    assert brain.store.promote(bench.owner(), replace=True) == (2, 0)


def test_an_unknown_rule_is_refused_before_anything_runs(bench: Any) -> None:
    with pytest.raises(ValueError, match="rule 'flots' is not one of: bedrock, file_search, floats"):
        bench.brain(Mode.REPLAY, rules=({"name": "flots"},))


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
    thread.join(10)
    assert isinstance(said[0], Answer)
    assert bench.body(said[0]) == b'{"a":1}'
