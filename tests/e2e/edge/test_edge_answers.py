"""Plain answers, tokens, secrets and owners at the edge."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.edge.conftest import TEST, EdgeBench
from tests.e2e.edge.edge_client import CHAT, ID, client, pieces

from stackproof.recorder import scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Provider

# -- plain answers


def test_errors_keep_status_body_and_headers_and_only_deterministic_ones_are_kept(
    edges: EdgeBench, bench: Any, provider: Any
) -> None:
    provider.script = lambda wire: wire.whole(b"slow down", 429, "text/plain", retry_after="2")
    with edges.record(record_errors=True) as edge, client() as http:
        answer = http.post(f"{edge.url}/chat", json=CHAT)
    assert (answer.status_code, answer.text, answer.headers["retry-after"]) == (429, "slow down", "2")
    with edges.replay() as edge, client() as http:
        again = http.post(f"{edge.url}/chat", json=CHAT)
        assert (again.status_code, again.text, again.headers["retry-after"]) == (429, "slow down", "2")
        assert again.headers["retry-after-ms"] == "1", "an SDK does not wait"
    with edges.record() as edge, client() as http:
        http.post(f"{edge.url}/other", json=CHAT)
        assert edge.calls() == ["dropped"]
    provider.script = lambda wire: wire.json({"error": {"message": "no such model"}}, status=404)
    with edges.record() as edge, client() as http:
        assert http.post(f"{edge.url}/other", json=CHAT).status_code == 404
        assert edge.calls() == ["recorded"]


def test_a_provider_that_does_not_answer_is_a_connection_that_ends(edges: EdgeBench, bench: Any, provider: Any) -> None:
    provider.stop()
    with edges.record(record_errors=True) as edge, client() as http:
        with pytest.raises(httpx.RemoteProtocolError):
            http.post(f"{edge.url}/chat", json=CHAT)
        assert "ConnectError" in edge.log.read_text()
    (kept,) = bench.recordings()
    assert kept["response"]["exception"]["kind"] == "ConnectError"
    with edges.replay() as edge, client() as http, pytest.raises(httpx.RemoteProtocolError):
        http.post(f"{edge.url}/chat", json=CHAT)


def test_a_miss_is_the_answer_that_no_sdk_tries_again(edges: EdgeBench) -> None:
    with edges.replay() as edge, client() as http:
        answer = http.post(f"{edge.url}/chat", json=CHAT)
        assert (answer.status_code, answer.headers["x-should-retry"]) == (424, "false")
        assert "no recording for POST /chat" in answer.json()["message"]
        (miss,) = edge.lines("misses")
        assert miss["scope"] == TEST.name


def test_head_and_answers_without_a_body(edges: EdgeBench, provider: Any) -> None:
    provider.script = lambda wire: wire.bare(200 if wire.asked.method == "HEAD" else 204)
    with edges.record() as edge, client() as http:
        assert http.head(f"{edge.url}/files/1").status_code == 200
        assert http.delete(f"{edge.url}/files/1").status_code == 204
        assert http.head(f"{edge.url}/files/1").content == b"", "the connection still serves"
    with edges.replay() as edge, client() as http:
        assert http.head(f"{edge.url}/files/1").status_code == 200
        assert http.delete(f"{edge.url}/files/1").status_code == 204


def test_uploads_arrive_whole_and_match_without_their_boundary(edges: EdgeBench, provider: Any) -> None:
    provider.script = lambda wire: wire.json({"bytes": len(wire.asked.body)})
    blob = bytes(range(256)) * 20_000
    with edges.record() as edge, client() as http:
        answer = http.post(f"{edge.url}/files", files={"file": ("a.bin", blob, "application/octet-stream")})
        assert answer.json()["bytes"] > len(blob)
        assert blob in provider.asked[0].body
        packed = gzip.compress(b'{"a": 1}')
        http.post(f"{edge.url}/packed", content=packed, headers={"content-encoding": "gzip"})
        assert provider.asked[1].body == packed, "a compressed request stays compressed"
        assert provider.asked[1].headers["content-encoding"] == "gzip"
        http.post(f"{edge.url}/pieces", content=iter([b"one ", b"two"]))
        assert provider.asked[2].body == b"one two"
    with edges.replay() as edge, client() as http:
        again = http.post(f"{edge.url}/files", files={"file": ("a.bin", blob, "application/octet-stream")})
        assert again.json() == answer.json()
        assert http.post(f"{edge.url}/pieces", content=b"one two").status_code == 200


def test_one_connection_serves_many_calls(edges: EdgeBench, provider: Any) -> None:
    provider.script = lambda wire: wire.json({"path": wire.asked.path})
    with edges.record() as edge, client(limits=httpx.Limits(max_connections=1)) as http:
        for number in range(20):
            assert http.get(f"{edge.url}/items/{number}").json()["path"].endswith(f"/items/{number}")
        used = http.get(f"{edge.url}/items/0").extensions["network_stream"]
        assert used.get_extra_info("client_addr") is not None
    assert {asked.headers["host"] for asked in provider.asked} == {f"127.0.0.1:{provider.port}"}


def test_a_compressed_answer_is_kept_readable_and_handed_on_decoded(
    edges: EdgeBench, bench: Any, provider: Any
) -> None:
    provider.script = lambda wire: wire.whole(
        gzip.compress(b'{"a":1}'), 200, "application/json", content_encoding="gzip"
    )
    with edges.record() as edge, client() as http:
        answer = http.get(f"{edge.url}/packed", headers={"accept-encoding": "br, zstd"})
        assert answer.json() == {"a": 1}
        assert "content-encoding" not in answer.headers
    assert provider.asked[0].headers["accept-encoding"] == "gzip, deflate"
    assert bench.recordings()[0]["response"]["body"] == {"json": {"a": 1}}


def test_redirects_lead_back_to_the_edge_and_cookies_nowhere(edges: EdgeBench, provider: Any) -> None:
    def script(wire: Any) -> None:
        if wire.asked.path.endswith("/old"):
            wire.whole(b"", 307, "text/plain", location=f"{provider.url}/new", set_cookie="sid=abc")
        else:
            wire.json({"cookie": wire.asked.headers.get("cookie")})

    provider.script = script
    for mode in (edges.record, edges.replay):
        with mode() as edge, client() as http:
            answer = http.get(f"{edge.url}/old")
            assert answer.headers["location"] == f"{edge.url}/new"
            assert "set-cookie" not in answer.headers
            by_name = http.get(f"{edge.prefix}/old")
            assert by_name.headers["location"] == f"{edge.prefix}/new"
            followed = http.get(f"{edge.url}/old", follow_redirects=True)
            assert followed.json() == {"cookie": None}


def test_a_provider_is_reached_by_its_own_address_by_name_and_by_the_long_form(edges: EdgeBench, provider: Any) -> None:
    provider.script = lambda wire: wire.json({"path": wire.asked.path})
    with edges.record() as edge, client() as http:
        for base in (edge.url, edge.prefix, f"{edge.places.url}/to/probe"):
            assert http.get(f"{base}/a%2Fb/c?x=1&y=%20").json() == {"path": "/v1/a%2Fb/c?x=1&y=%20"}


# -- tokens, secrets


def test_a_token_is_passed_on_and_not_recorded_and_a_placeholder_in_replay(
    edges: EdgeBench, bench: Any, provider: Any
) -> None:
    provider.script = lambda wire: wire.json({"access_token": "real"})
    with edges.record() as edge, client() as http:
        assert http.post(f"{edge.url}/oidc/v1/token").json() == {"access_token": "real"}
    assert bench.files() == []
    with edges.replay() as edge, client() as http:
        assert http.post(f"{edge.url}/oidc/v1/token").json()["access_token"] != "real"


def test_a_file_that_would_hold_a_secret_is_not_written(edges: EdgeBench, bench: Any, provider: Any) -> None:
    provider.script = lambda wire: wire.json({"echo": wire.asked.headers["authorization"]})
    environ = {"PROBE_KEY": "a-key-of-nobody-4711"}
    with edges.record(environ=environ, secrets=("PROBE_KEY",)) as edge, client() as http:
        http.get(f"{edge.url}/me", headers={"authorization": "Bearer a-key-of-nobody-4711"})
        (miss,) = edge.lines("misses")
        assert miss["kind"] == "secret"
        assert "4711" not in edge.log.read_text()
        left = [path for path in Path(edge.settings.run_dir).rglob("*") if path.is_file()]
        assert left
        assert [path.name for path in left if b"a-key-of-nobody-4711" in path.read_bytes()] == []
    assert bench.files() == []


# -- whose call


def test_whose_a_call_is(edges: EdgeBench, bench: Any, provider: Any) -> None:
    other = replace(TEST, name="tests/integration/probe/test_it.py::test_other")
    with edges.record() as edge, httpx.Client(trust_env=False, timeout=60) as http:

        def ask(path: str, headers: dict[str, str]) -> str:
            http.get(f"{edge.url}{path}", headers=headers)
            return str(edge.lines("calls")[-1]["scope"])

        member = "stackproof.scope=" + TEST.name.replace("/", "%2F")
        assert ask("/nobody", {}) == scope.STACK_NAME
        assert ask("/header", ID) == TEST.name
        assert ask("/baggage", {"baggage": f"a=1,{member}"}) == TEST.name
        edge.announce(other)
        assert ask("/announced", {}) == other.name
        assert ask("/both", ID) == TEST.name, "the header knows better"
        assert ask("/broken", {"X-Provider-Data": "{not json"}) == other.name
        edge.announce(None)
        assert ask("/after", {}) == scope.STACK_NAME
        edge.keep(scope.STACK)
        edge.keep(other)
    asked = {one.path.rpartition("/")[2]: one.headers for one in provider.asked}
    assert "x-provider-data" not in asked["header"]
    assert asked["baggage"]["baggage"] == "a=1"
    assert asked["broken"]["x-provider-data"] == "{not json", "what is not ours stays"
    folders = {path.parent.name for path in bench.files()}
    assert folders == {"common", "probe"}


def test_what_others_have_in_the_id_header_is_handed_on(edges: EdgeBench, provider: Any) -> None:
    value = json.dumps({"__test_id": TEST.name, "their_key": "k"})
    with edges.record() as edge, httpx.Client(trust_env=False, timeout=60) as http:
        http.get(f"{edge.url}/x", headers={"X-Provider-Data": value})
    assert json.loads(provider.asked[0].headers["x-provider-data"]) == {"their_key": "k"}


def test_workers_beside_one_another_announce_nothing_that_could_be_believed(edges: EdgeBench) -> None:
    from stackproof.edge.announced import announcer

    with edges.replay() as edge, httpx.Client(trust_env=False, timeout=60) as http:
        announcer(edge.settings.run_dir, "gw1")(TEST)
        answer = http.get(f"{edge.url}/x")
        assert answer.status_code == 424
        assert "no scope for GET /x of probe: it carried no test id" in answer.json()["message"]
        assert "have the stack send its id header" in answer.json()["message"]


def test_live_hands_calls_on_and_writes_nothing(edges: EdgeBench, bench: Any, provider: Any) -> None:
    provider.script = lambda wire: wire.events({"n": 1})
    with edges.run(Mode.LIVE) as edge:
        assert len(pieces(f"{edge.url}/chat", CHAT)[0]) >= 1
        assert edge.lines("calls") == []
    assert bench.files() == []


def test_two_providers_do_not_meet(edges: EdgeBench, bench: Any, provider: Any) -> None:
    twice = (
        Provider(name="probe", variable="PROBE_URL", prefixes=(provider.url,)),
        Provider(name="twin", variable="TWIN_URL", prefixes=(f"http://127.0.0.1:{provider.port}/twin",)),
    )
    with edges.record(providers=twice) as edge, client() as http:
        http.get(f"{edge.url}/x")
        http.get(f"{edge.places.own_address('twin')}/twin/x")
    assert sorted(one["request"]["provider"] for one in bench.recordings()) == ["probe", "twin"]
    assert sorted(one["request"]["url"] for one in bench.recordings()) == ["{PROBE_URL}/x", "{TWIN_URL}/x"]
