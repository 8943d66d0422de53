"""What `verify` does with a call: it goes out, its answer is written below the run, and recordings stay untouched."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recorder.conftest import ASK

from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Later, PassThrough, Record
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope


def calls(brain: Brain, *kinds: str) -> list[dict[str, Any]]:
    """The lines of the calls' journal that are of a kind."""
    return [entry for entry in Ledger(brain.settings.run_dir).read("calls")[0] if entry["kind"] in kinds]


def digest(folder: Path) -> str:
    """Of everything below a folder: names, contents and times."""
    told = [
        f"{path.relative_to(folder)} {path.stat().st_mtime_ns} {path.read_bytes() if path.is_file() else ''!r}"
        for path in sorted(folder.rglob("*"))
    ]
    return sha256("\n".join(told).encode()).hexdigest()


def test_a_call_goes_out_although_its_answer_is_recorded_and_the_file_is_as_a_recording(bench: Any) -> None:
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "choices": []}
    bench.record((ASK, answer))
    before = digest(bench.recordings)
    brain = bench.brain(Mode.VERIFY)
    given = bench.play(bench.ask(brain, bench.request(ASK)), {**answer, "id": "chatcmpl-2", "created": 9})
    (line,) = calls(brain, "observed")
    observed = json.loads(Path(line["file"]).read_text())
    (recorded,) = (bench.recordings / "base").iterdir()
    assert Path(line["file"]).parent == bench.run_dir / "observed" / bench.owner().digest[:12] / "1"
    assert Path(line["file"]).name == recorded.name
    assert json.loads(given) == json.loads(recorded.read_text())["response"]["body"]["json"]
    assert observed["response"]["body"] == json.loads(recorded.read_text())["response"]["body"]
    assert (line["status"], "retry" in line) == (200, False)
    assert line["seconds"] >= 0
    assert digest(bench.recordings) == before


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503])
def test_a_refusal_is_observed_like_any_answer(bench: Any, status: int) -> None:
    brain = bench.brain(Mode.VERIFY)
    bench.play(bench.ask(brain, bench.request(ASK)), {"error": {"message": "no"}}, status=status)
    (line,) = calls(brain, "observed")
    assert line["status"] == status
    assert json.loads(Path(line["file"]).read_text())["response"]["status"] == status


def test_a_broken_connection_is_observed(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY)
    decision = bench.ask(brain, bench.request(ASK))
    decision.take.fail({"kind": "ConnectError", "message": "Connection refused"})
    (line,) = calls(brain, "observed")
    assert line["status"] is None
    assert json.loads(Path(line["file"]).read_text())["response"]["exception"]["kind"] == "ConnectError"


def test_a_caller_who_left_before_there_was_an_answer_leaves_nothing_to_observe(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY)
    bench.ask(brain, bench.request(ASK)).take.close()
    (line,) = calls(brain, "dropped")
    assert line["reason"] == "the caller left before there was an answer"
    assert not calls(brain, "observed")


def test_a_key_that_a_refusal_quotes_is_masked_in_the_file_and_fails_no_test(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY)
    secret = bench.environ["SOME_KEY"]
    said = {"error": {"message": f"Incorrect API key provided: {secret}."}}
    given = bench.play(bench.ask(brain, bench.request({**ASK, "note": secret})), said, status=401)
    assert secret in given.decode()  # the caller gets what the provider said
    (line,) = calls(brain, "observed")
    text = Path(line["file"]).read_text()
    assert json.loads(text)["response"]["body"]["json"]["error"]["message"] == "Incorrect API key provided: ***."
    assert not (bench.run_dir / "misses.jsonl").exists()
    for path in bench.run_dir.rglob("*"):
        assert path.is_dir() or secret not in path.read_text()


def test_ids_of_recordings_are_refused_and_ids_of_this_run_are_put_back(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY)
    first = {"id": "resp_" + "a" * 20, "object": "response", "output": []}
    given = json.loads(bench.play(bench.ask(brain, bench.request(ASK)), first))
    follow = bench.ask(brain, bench.request({"model": "m", "previous_response_id": given["id"]}))
    assert isinstance(follow, Record)
    assert json.loads(follow.body or b"")["previous_response_id"] == first["id"]
    unknown = {"model": "m", "previous_response_id": "resp_rec-000000000000-1-1"}
    kind, text = bench.refusal(bench.ask(brain, bench.request(unknown)))
    assert kind == "stale-id"
    assert "is an id of a recording and of no answer in this run" in text
    assert "record" not in text.partition("\n")[2]  # recording anew is no remedy here


def test_requests_that_a_rule_folds_are_sent_out_one_by_one(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY, rules=({"name": "query", "parameters": ["version"]},))
    for version in (1, 2):
        asked = bench.request(ASK, path=f"/chat/completions?version={version}")
        bench.play(bench.ask(brain, asked), {"a": version})
    lines = calls(brain, "observed")
    assert len({line["request"] for line in lines}) == 1
    assert [line["n"] for line in lines] == [1, 2]


def test_model_lists_are_asked_for_and_are_not_merged_from_files(bench: Any) -> None:
    bench.record((None, {"object": "list", "data": [{"id": "old"}]}), path="/models")
    before = digest(bench.recordings)
    brain = bench.brain(Mode.VERIFY)
    decision = bench.ask(brain, bench.request(path="/models"))
    assert json.loads(bench.play(decision, {"object": "list", "data": [{"id": "new"}]}))["data"] == [{"id": "new"}]
    (line,) = calls(brain, "observed")
    assert Path(line["file"]).parent == bench.run_dir / "observed" / "models"
    assert digest(bench.recordings) == before


def test_of_a_shared_scope_one_process_asks_and_the_others_get_its_answer(bench: Any) -> None:
    fixture = "fixture:tests/integration/base::client"
    one, two = bench.brain(Mode.VERIFY), bench.brain(Mode.VERIFY)
    first = bench.ask(one, bench.request(ASK), Scope(name=fixture, worker="gw0"))
    waits = bench.ask(two, bench.request(ASK), Scope(name=fixture, worker="gw1"))
    assert isinstance(waits, Later)
    assert waits.poll() is None
    given = bench.play(first, {"a": 1})
    answer = waits.poll()
    assert isinstance(answer, Answer)
    assert bench.body(answer) == given
    assert len(calls(one, "observed")) == 1


def test_a_stream_is_observed_event_by_event(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY)
    raw = b'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n'
    given = bench.play(bench.ask(brain, bench.request(ASK)), raw, content_type="text/event-stream")
    assert given == raw
    (line,) = calls(brain, "observed")
    assert len(json.loads(Path(line["file"]).read_text())["response"]["events"]) == 3


def test_nobody_moves_what_was_observed(bench: Any) -> None:
    bench.record((ASK, {"a": 1}))
    before = digest(bench.recordings)
    brain = bench.brain(Mode.VERIFY)
    bench.play(bench.ask(brain, bench.request(ASK)), {"a": 2})
    assert not brain.settings.mode.records
    assert list(brain.store.staged(bench.owner()))
    assert digest(bench.recordings) == before


def test_what_is_no_provider_passes_through(bench: Any) -> None:
    decision = bench.ask(bench.brain(Mode.VERIFY), bench.request(ASK, url="http://example.org/v1"))
    assert isinstance(decision, PassThrough)


# -- retries


@pytest.mark.parametrize("mode", [Mode.VERIFY, Mode.RECORD])
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_an_equal_call_after_a_refusal_is_a_retry(bench: Any, mode: Mode, status: int) -> None:
    brain = bench.brain(mode)
    bench.play(bench.ask(brain, bench.request(ASK)), {"error": 1}, status=status)
    for _ in range(2):
        bench.play(bench.ask(brain, bench.request(ASK)), {"a": 1})
    lines = calls(brain, "observed", "recorded", "dropped")
    assert [line.get("retry", False) for line in lines] == [False, True, False]
    assert [line["status"] for line in lines] == [status, 200, 200]


@pytest.mark.parametrize("status", [200, 400, 401, 404, 422])
def test_an_equal_call_after_any_other_answer_is_none(bench: Any, status: int) -> None:
    brain = bench.brain(Mode.VERIFY)
    for _ in range(2):
        bench.play(bench.ask(brain, bench.request(ASK)), {"a": 1}, status=status)
    assert not any("retry" in line for line in calls(brain, "observed"))


def test_a_call_after_a_stream_that_broke_off_is_a_retry_in_another_process_too(bench: Any) -> None:
    one, two = bench.brain(Mode.VERIFY), bench.brain(Mode.VERIFY)
    decision = bench.ask(one, bench.request(ASK))
    decision.take.start(200, {"content-type": "text/event-stream"}, {})
    decision.take.feed(b'data: {"a":1}\n\n')
    decision.take.fail({"kind": "RemoteProtocolError", "message": "gone"})
    bench.play(bench.ask(two, bench.request(ASK)), {"a": 1})
    bench.play(bench.ask(two, bench.request(ASK), bench.owner("tests/integration/base/test_b.py::test_b")), {"a": 1})
    assert [line.get("retry", False) for line in calls(one, "observed")] == [False, True, False]


def test_each_failure_is_tried_again_by_one_call(bench: Any) -> None:
    brain = bench.brain(Mode.VERIFY)
    pair = [bench.ask(brain, bench.request(ASK)) for _ in range(2)]
    for decision in pair:
        bench.play(decision, {"error": 1}, status=500)
    for _ in range(3):
        bench.play(bench.ask(brain, bench.request(ASK)), {"a": 1})
    assert sum("retry" in line for line in calls(brain, "observed")) == 2
