"""What the real provider, the stack and everybody else get to see of a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.recorder import scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.unit.recorder_wire.callers import Caller
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider, Wire

_RESPONSE = {"object": "response", "id": "resp_real_1", "created_at": 17, "output": []}


def test_a_real_id_is_put_back_on_its_way_to_the_provider(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    def script(wire: Wire) -> None:
        wire.json({**_RESPONSE, "id": f"resp_real_{len(provider.asked)}"})

    provider.script = script
    url = f"{provider.url}/responses"

    def converse() -> list[str]:
        first = json.loads(caller.heard("POST", url, json={"input": "one"}).body)["id"]
        second = json.loads(caller.heard("POST", url, json={"input": "two", "previous_response_id": first}).body)["id"]
        return [first, second, json.loads(caller.heard("GET", f"{url}/{second}").body)["id"]]

    with bench.record():
        recorded = converse()
    assert provider.asked[1].json == {"input": "two", "previous_response_id": "resp_real_1"}
    assert provider.asked[1].headers["content-length"] == str(len(provider.asked[1].body))
    assert provider.asked[2].path == "/v1/responses/resp_real_2"
    assert all(name.startswith("resp_rec-") for name in recorded)
    with bench.replay():
        assert converse() == recorded


def test_a_call_that_needs_an_id_which_was_only_replayed_is_refused(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    url = f"{provider.url}/responses"
    with bench.run(Mode.RECORD_IF_MISSING) as brain:
        heard = caller.heard("POST", url, json={"previous_response_id": "resp_rec-0123456789ab-1-1"})
        (miss,) = brain.ledger.read("misses")[0]
    assert heard.status == 424
    assert miss["kind"] == "stale-id"
    assert "record this test anew" in miss["message"]
    assert provider.asked == []


def test_the_provider_sees_nothing_of_the_test_id(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    with bench.record(stack_url="http://127.0.0.1:1"):
        caller.heard("POST", f"{provider.url}/answers", content=b"ask", headers={"authorization": "Bearer t"})
    (asked,) = provider.asked
    assert "x-provider-data" not in asked.headers
    assert "baggage" not in asked.headers
    assert asked.headers["authorization"] == "Bearer t"


@pytest.mark.parametrize("mode", [Mode.REPLAY, Mode.RECORD])
def test_a_request_to_the_stack_carries_the_test_id(
    bench: Bench, provider: LoopbackProvider, caller: Caller, mode: Mode
) -> None:
    stack_url = f"http://127.0.0.1:{provider.port}/stack"
    with (
        bench.run(mode, owner=None, stack_url=stack_url),
        scope.use(Scope(name="tests/a.py::test_ü[x]", test_id="tests/a.py::test_ü[x]")),
    ):
        heard = caller.heard("GET", f"{stack_url}/v1/health")
    (asked,) = provider.asked
    assert heard.status == 200
    assert json.loads(asked.headers["x-provider-data"]) == {"__test_id": "tests/a.py::test_ü[x]"}
    assert asked.headers["baggage"] == "stackproof.scope=tests%2Fa.py%3A%3Atest_%C3%BC%5Bx%5D"


def test_a_live_run_leaves_requests_as_they_are(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    with bench.run(Mode.LIVE, stack_url=f"http://127.0.0.1:{provider.port}"):
        caller.heard("GET", f"{provider.url}/models")
    assert "x-provider-data" not in provider.asked[0].headers


def test_keys_and_baggage_of_the_caller_stay_beside_the_id(
    bench: Bench, provider: LoopbackProvider, caller: Caller
) -> None:
    stack_url = f"http://127.0.0.1:{provider.port}"
    theirs = {"X-Provider-Data": '{"tavily_search_api_key": "k"}', "baggage": "user=7"}
    fixture = Scope(name="fixture:tests/a.py::store[1]", test_id="tests/a.py::test_a", attempt=2, worker="gw1")
    with bench.run(Mode.REPLAY, owner=None, stack_url=stack_url), scope.use(fixture):
        caller.heard("GET", f"{stack_url}/other", headers=theirs)
    (asked,) = provider.asked
    assert json.loads(asked.headers["x-provider-data"]) == {
        "tavily_search_api_key": "k",
        "__test_id": "tests/a.py::test_a",
        "__scope": "fixture:tests/a.py::store[1]",
        "__attempt": 2,
        "__worker": "gw1",
    }
    assert asked.headers["baggage"].startswith("user=7,stackproof.scope=")


def test_a_request_elsewhere_carries_no_id_not_even_after_a_redirect(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    stack_url = f"http://127.0.0.1:{provider.port}/stack"
    elsewhere = f"http://localhost:{provider.port}/elsewhere"

    def script(wire: Wire) -> None:
        if wire.asked.path.startswith("/stack/"):
            wire.whole(b"", 307, "text/plain", location=elsewhere)
        else:
            wire.json({})

    provider.script = script
    with (
        bench.run(Mode.REPLAY, stack_url=stack_url),
        library.Client(trust_env=False, follow_redirects=True) as client,
    ):
        client.get(f"{stack_url}/v1/x")
        client.get(f"http://127.0.0.1:{provider.port}/stackpile")
    assert [asked.path for asked in provider.asked] == ["/stack/v1/x", "/elsewhere", "/stackpile"]
    assert ["x-provider-data" in asked.headers for asked in provider.asked] == [True, False, False]


def test_a_request_object_can_be_sent_again(bench: Bench, provider: LoopbackProvider, library: Any) -> None:
    stack_url = f"http://127.0.0.1:{provider.port}/stack"
    with bench.run(Mode.REPLAY, stack_url=stack_url), library.Client(trust_env=False) as client:
        request = client.build_request("POST", f"{stack_url}/v1/x", json={"a": 1})
        client.send(request)
        client.send(request)
    first, second = provider.asked
    assert first.headers["baggage"] == second.headers["baggage"]
    assert first.body == second.body
    assert first.json == {"a": 1}
    assert "x-provider-data" not in request.headers


def test_recording_does_not_change_the_callers_own_request(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    with bench.record(), library.Client(trust_env=False) as client:
        request = client.build_request("POST", f"{provider.url}/x", json={}, headers={"accept-encoding": "identity"})
        client.send(request)
    assert request.headers["accept-encoding"] == "identity"


def test_an_upload_is_matched_by_its_parts(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    image = b"\x89PNG" + bytes(range(256))
    url = f"{provider.url}/files"
    with bench.record():
        recorded = caller.heard("POST", url, files={"file": ("a.png", image, "image/png")}, data={"purpose": "vision"})
    assert recorded.error is None
    with bench.replay():
        assert (
            caller.heard("POST", url, files={"file": ("a.png", image, "image/png")}, data={"purpose": "vision"}).body
            == recorded.body
        )
    with bench.replay() as brain:
        other = caller.heard(
            "POST", url, files={"file": ("a.png", image[:-1], "image/png")}, data={"purpose": "vision"}
        )
        (miss,) = brain.ledger.read("misses")[0]
    assert other.status == 424
    assert "multipart[1].sha256" in miss["message"]


def test_an_upload_that_is_generated_while_it_is_sent_is_recorded(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    with bench.record(), library.Client(trust_env=False) as client:
        client.post(f"{provider.url}/x", content=(piece for piece in (b"one ", b"two")))
    with bench.replay(), library.Client(trust_env=False) as client:
        assert client.post(f"{provider.url}/x", content=b"one two").status_code == 200


def test_what_is_no_provider_passes_unseen(bench: Bench, provider: LoopbackProvider, caller: Caller) -> None:
    with bench.record() as brain:
        heard = caller.heard("GET", f"http://127.0.0.1:{provider.port}/agent/health")
        calls, _ = brain.ledger.read("calls")
    assert heard.body == b'{"ok": true}'
    assert bench.files() == []
    assert calls == []


def test_a_host_that_does_not_answer_is_reported_by_its_real_error(
    bench: Bench, provider: LoopbackProvider, caller: Caller, unused_port: int
) -> None:
    provider.port = unused_port
    with bench.record() as brain:
        heard = caller.heard("GET", f"{provider.url}/x")
        calls, _ = brain.ledger.read("calls")
    assert heard.error == caller.errors["ConnectError"]
    assert [(call["kind"], call["reason"]) for call in calls] == [
        ("dropped", "ConnectError (kept with --record-errors)")
    ]
