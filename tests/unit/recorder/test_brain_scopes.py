"""Whose a call is: scopes, shared ones, lists of models, and what is wrong with files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.recorder.conftest import ASK

from stackproof.recorder.decision import Later, PassThrough, Record
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import STACK, UNKNOWN, Scope

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
