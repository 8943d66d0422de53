"""Real ids on the way out, written ones on the way in, kept apart by whose they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackproof.recorder.ledger import Ledger
from stackproof.recorder.realids import RealIds
from stackproof.recorder.scope import Scope

OWNER, OTHER, SHARED = Scope(name="a.py::b"), Scope(name="c.py::d"), Scope(name="fixture:x::y")
URL = "http://localhost:11434/v1/responses"
RESP, CALL, BARE = "resp_rec-0123456789ab-1-1", "call_rec-0123456789ab-1-2", "rec-0123456789ab"


@pytest.fixture
def ids(tmp_path: Path) -> Iterator[RealIds]:
    ledger = Ledger(str(tmp_path))
    yield RealIds(ledger)
    ledger.close()


def test_ids_in_body_and_address_are_put_back(ids: RealIds) -> None:
    ids.learn(OWNER, {"resp_real": RESP, "call_real": CALL})
    body = json.dumps({"previous_response_id": RESP, "input": [{"call_id": CALL}], "text": f"see {RESP}, é"})
    out = ids.put_back(OWNER, f"{URL}/{RESP}/cancel?after={CALL}", body.encode())
    assert out.url == f"{URL}/resp_real/cancel?after=call_real"
    assert out.body == body.replace(RESP, "resp_real").replace(CALL, "call_real").encode()
    assert out.known == {"resp_real": RESP, "call_real": CALL}


def test_a_request_without_ids_goes_out_as_it_is(ids: RealIds) -> None:
    ids.learn(OWNER, {"resp_real": RESP})
    out = ids.put_back(OWNER, URL, b'{"input":"record this"}')
    assert (out.url, out.body, out.stale) == (None, None, None)
    # The answer may still speak of an earlier one.
    assert out.known == {"resp_real": RESP}


def test_another_process_of_the_run_knows_them_too(ids: RealIds, tmp_path: Path) -> None:
    there = RealIds(Ledger(str(tmp_path)))
    assert there.put_back(OWNER, f"{URL}/{RESP}", b"").stale == RESP
    ids.learn(OWNER, {"resp_real": RESP})
    assert there.put_back(OWNER, f"{URL}/{RESP}", b"").url == f"{URL}/resp_real"


def test_two_tests_with_an_equal_request_keep_their_own_ids(ids: RealIds) -> None:
    ids.learn(OWNER, {"resp_mine": RESP})
    ids.learn(OTHER, {"resp_theirs": RESP})
    assert ids.put_back(OWNER, f"{URL}/{RESP}", b"").url == f"{URL}/resp_mine"
    assert ids.put_back(OTHER, f"{URL}/{RESP}", b"").url == f"{URL}/resp_theirs"
    assert ids.put_back(OWNER, URL, b"").known == {"resp_mine": RESP}


def test_ids_of_a_fixture_and_of_an_earlier_test_can_be_used(ids: RealIds) -> None:
    ids.learn(SHARED, {"resp_prepared": RESP})
    ids.learn(OTHER, {"call_theirs": CALL})
    out = ids.put_back(OWNER, f"{URL}/{RESP}", json.dumps({"call_id": CALL}).encode())
    assert (out.url, out.body) == (f"{URL}/resp_prepared", b'{"call_id": "call_theirs"}')


def test_a_test_that_runs_again_means_its_new_ids(ids: RealIds) -> None:
    ids.learn(OWNER, {"resp_old": RESP})
    ids.learn(OWNER, {"resp_new": RESP})
    assert ids.put_back(OWNER, f"{URL}/{RESP}", b"").url == f"{URL}/resp_new"


def test_a_written_id_inside_a_longer_one_is_left_alone(ids: RealIds) -> None:
    ids.learn(OWNER, {"chatcmpl-real": BARE})
    body = json.dumps([BARE, CALL, f"{BARE}-1-3"]).encode()
    assert ids.put_back(OWNER, URL, body).body == body.replace(f'"{BARE}"'.encode(), b'"chatcmpl-real"')


def test_an_address_stays_an_address(ids: RealIds) -> None:
    ids.learn(OWNER, {"resp_a/b+c?": RESP})
    assert ids.put_back(OWNER, f"{URL}/{RESP}", b"").url == f"{URL}/resp_a%2Fb%2Bc%3F"


@pytest.mark.parametrize(
    ("url", "body", "stale"),
    [
        (f"{URL}/{RESP}", b"", True),
        (URL, json.dumps({"previous_response_id": RESP}).encode(), True),
        (URL, json.dumps({"response_id": RESP}).encode(), True),
        (URL, json.dumps({"messages": [{"tool_call_id": CALL}]}).encode(), False),
        (URL, json.dumps({"input": f"what was {RESP}?"}).encode(), False),
        (URL, json.dumps({"input": [{"previous_response_id": RESP}]}).encode(), False),
        (URL, f'{{"previous_response_id": "{RESP}"'.encode(), False),
        (URL, b"\xff" + RESP.encode(), False),
        (URL, b"[" * 5000 + RESP.encode(), False),
    ],
)
def test_only_what_the_provider_must_know_is_stale(ids: RealIds, url: str, body: bytes, stale: bool) -> None:
    out = ids.put_back(OWNER, url, body)
    assert (out.stale is not None) == stale
    assert (out.url, out.body) == (None, None)


def test_bytes_that_are_no_text_survive(ids: RealIds) -> None:
    ids.learn(OWNER, {"resp_real": RESP})
    assert ids.put_back(OWNER, URL, b"\xff" + RESP.encode() + b"\xfe").body == b"\xffresp_real\xfe"
