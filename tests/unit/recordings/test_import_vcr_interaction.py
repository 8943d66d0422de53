"""One interaction of a cassette: the shapes of its bodies and headers, and what is said of what it no longer holds."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from stackproof.recorder.identity import describe
from stackproof.recordings.importing import vcr_body, vcr_interaction
from stackproof.recordings.importing.imported import RefusedSource
from stackproof.recordings.importing.vcr_interaction import Exchange

JSON = {"content-type": ["application/json"]}


def whole(**changes: Any) -> dict[str, Any]:
    """An interaction; `request_…` and `response_…` change its parts."""
    made: dict[str, Any] = {
        "request": {"method": "POST", "uri": "https://api.openai.com/v1/x", "headers": {}, "body": "{}"},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "ok"}},
    }
    for name, value in changes.items():
        part, _, key = name.partition("_")
        made[part][key] = value
    return made


def read(**changes: Any) -> Exchange:
    """What is read of an interaction with these changes."""
    return vcr_interaction.read(whole(**changes))


def refused(**changes: Any) -> str:
    """The reason for which it is refused."""
    with pytest.raises(RefusedSource) as caught:
        read(**changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kept", "sent"),
    [
        (None, b""),
        ("", b""),
        ({}, b""),
        ("ä", b"\xc3\xa4"),
        (b"\x00\xff", b"\x00\xff"),
        ({"string": "ä"}, b"\xc3\xa4"),
        ({"string": b"\xff"}, b"\xff"),
        ({"string": None}, b""),
        ({"string": "", "encoding": "UTF-8"}, b""),
        ({"base64_string": "AP8=", "encoding": "utf-8"}, b"\x00\xff"),
        ([b"a", "b", 99], b"abc"),
        ([], b""),
    ],
)
def test_a_body_has_many_shapes(kept: Any, sent: bytes) -> None:
    assert read(request_body=kept).body == sent
    assert read(response_body=kept).answer.body == sent


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        (5, "is a number, which vcrpy does not write"),
        (True, "is true or false, which vcrpy does not write"),
        ({"yaml": {}}, "is an object, which vcrpy does not write"),
        ({"string": 5}, "is an object of an unknown form, which vcrpy does not write"),
        ([None], "is a list with something in it, which vcrpy does not write"),
        ([True], "is a list with true or false in it, which vcrpy does not write"),
        ([999], "cannot be read"),
        ({"base64_string": "A"}, "cannot be read"),
        ("\ud83d", "is text that no bytes stand for"),
    ],
)
def test_other_shapes_are_refused(kept: Any, why: str) -> None:
    assert refused(request_body=kept) == f"the body of its request {why}"
    assert refused(response_body=kept) == f"the body of its answer {why}"


def test_a_parsed_body_is_json_again_and_that_is_told() -> None:
    made = whole(response_headers=JSON)
    made["request"]["parsed_body"], made["response"]["parsed_body"] = {"a": "é"}, {"b": [1.5]}
    del made["request"]["body"], made["response"]["body"]
    found = vcr_interaction.read(made)
    assert (found.body, found.answer.body) == ('{"a":"é"}'.encode(), b'{"b":[1.5]}')
    assert found.is_rewritten
    assert found.lost == ("the request's body, as it was written: a serializer of its own wrote it anew",)
    made["request"]["parsed_body"] = {"at": object()}
    with pytest.raises(RefusedSource, match=r"the parsed_body of its request is no JSON"):
        vcr_interaction.read(made)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (None, "it has no request"),
        ([], "it has no request"),
        ({"request": {}}, "it has no response"),
        ({"request": {}, "response": {}}, "its request has no method or no uri"),
        ({"request": {"method": "GET", "uri": 5}, "response": {}}, "its request has no method or no uri"),
    ],
)
def test_what_is_no_interaction_is_refused(raw: Any, why: str) -> None:
    with pytest.raises(RefusedSource) as caught:
        vcr_interaction.read(raw)
    assert str(caught.value) == why


def test_an_answer_without_status_or_body_is_refused() -> None:
    for status in (None, {}, {"code": None}, {"code": "200"}, {"code": True}, {"code": 99}, {"code": 1000}):
        assert refused(response_status=status) == "its answer has no status"
    made = whole()
    del made["response"]["body"]
    with pytest.raises(RefusedSource, match=r"\Aits answer has no body\Z"):
        vcr_interaction.read(made)
    assert refused(response_headers=["a: b"]) == "its headers are no mapping"


def test_the_form_that_vcrpy_once_had_for_httpx_is_read() -> None:
    made = whole()
    made["response"] = {
        "status_code": 200, "http_version": "HTTP/1.1", "content": '{"a": 1}',
        "headers": {"content-encoding": ["gzip"], "content-type": "application/json", "content-length": ["40"]},
    }  # fmt: skip
    answer = vcr_interaction.read(made).answer
    assert (answer.status, answer.body) == (200, b'{"a": 1}')
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate"])
def test_compressed_answers_are_decoded(encoding: str) -> None:
    plain = b"text " * 1000
    packed = zlib.compress(plain) if encoding == "deflate" else gzip.compress(plain)
    headers = {"Content-Encoding": [encoding], "Content-Length": [str(len(packed))]}
    found = read(response_headers=headers, response_body={"string": packed})
    assert found.answer.body == plain
    assert found.lost == ()
    # What was decoded when it was recorded is left as it is.
    assert read(response_headers=headers, response_body={"string": plain}).answer.body == plain


def test_a_compressed_answer_that_is_damaged_or_cut_is_refused() -> None:
    packed = gzip.compress(bytes(range(256)) * 50)
    headers = {"content-encoding": ["gzip"]}
    assert refused(response_headers=headers, response_body={"string": packed[:-20]}) == (
        "its body was cut short: the gzip in it has no end"
    )
    assert refused(response_headers=headers, response_body={"string": b"\xff" + packed}) == (
        "its body is not in the content-encoding gzip that its headers name"
    )


def test_an_answer_that_decodes_to_no_end_is_refused() -> None:
    squeeze = zlib.compressobj(9, wbits=31)
    megabyte = bytes(1 << 20)
    packed = b"".join([*(squeeze.compress(megabyte) for _ in range(300)), squeeze.flush()])
    assert len(packed) < 1 << 19
    assert refused(response_headers={"content-encoding": ["gzip"]}, response_body={"string": packed}) == (
        "its body is more than 256 MiB when it is decoded"
    )


def test_a_body_that_nothing_here_decodes_stays_encoded_and_that_is_told() -> None:
    found = read(response_headers={"content-encoding": ["compress"]}, response_body={"string": b"\x1f\x9d"})
    assert found.answer.body == b"\x1f\x9d"
    assert found.answer.headers["content-encoding"] == "compress"
    assert found.lost == ("a body in compress, which is kept encoded: no package here undoes it",)


def test_an_answer_that_was_cut_short_is_refused_and_a_filtered_one_told() -> None:
    long = {**JSON, "content-length": ["50"]}
    assert refused(response_headers=long, response_body={"string": '{"a": '}) == (
        "its answer is shorter than its content-length says: it was cut short or filtered"
    )
    assert read(response_headers=long, response_body={"string": '{"a": 1}'}).lost == (
        "an answer as it was sent: its length is another one, so a filter changed it",
    )
    assert read(request_method="HEAD", response_headers=long, response_body={"string": ""}).lost == ()
    assert read(response_status={"code": 304}, response_headers=long, response_body={"string": ""}).lost == ()


def test_what_no_recording_keeps_is_told() -> None:
    headers = {
        "set-cookie": ["a=b; c", "d=e"], "x-request-id": ["r"], "date": ["Tue, 05 Nov 2024 10:00:00 GMT"],
        "content-type": ["text/event-stream"], "location": ["https://api.openai.com/v1/y"],
    }  # fmt: skip
    found = read(response_headers=headers, response_body={"string": "data: 1\n\n"})
    assert [what.partition(":")[0] for what in found.lost] == [
        "where the network cut a stream",
        "set-cookie",
        "headers off the list of those that recordings keep (x-request-id, rate limits, …)",
        "a redirect that names the host of that day",
    ]
    assert found.recorded_at == "2024-11-05T10:00:00+00:00"


@pytest.mark.parametrize("location", ["/v1/y", "https://other.example/y", "http://[", ""])
def test_a_redirect_that_leads_to_the_same_place_always_loses_nothing(location: str) -> None:
    assert read(response_headers={"location": [location]}).lost == ()


@pytest.mark.parametrize("date", ["", "yesterday", "Tue, 99 Nov 2024 10:00:00 GMT"])
def test_a_date_that_is_none_is_left_out(date: str) -> None:
    assert read(response_headers={"date": [date]}).recorded_at is None


def test_headers_are_found_however_they_are_written() -> None:
    found = read(request_headers={"Content-Type": "a/b", "X": ["1", 2, None], b"Y".decode(): b"\xe9"})
    assert found.headers == {"content-type": "a/b", "x": "1, 2", "y": "é"}
    assert read(request_headers=None).headers == {}


def changed(body: bytes, length: int | str, content_type: str = "application/json") -> bool:
    """Whether a body counts as another one than was sent."""
    form = describe(provider="", method="", path="", query="", content_type=content_type, body=body)["body"]
    return vcr_body.was_changed(body, {"content-length": str(length)}, form)


def test_a_request_that_was_filtered_is_known_by_its_length() -> None:
    body = {"model": "m", "user": "é"}
    compact = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    assert not changed(compact, len(compact))
    assert not changed(json.dumps(body).encode(), len(compact)), "written anew by a filter that found nothing"
    assert changed(b'{"model":"m"}', len(compact))
    assert changed(b"", len(compact)), "its body is missing"
    assert changed(b"a=1", 9, "application/x-www-form-urlencoded")
    assert not changed(b"a=1&api_key=X", 30, "application/x-www-form-urlencoded"), "never compared"
    assert not changed(b'{"a":1,"api_key":"X"}', 60), "never compared"
    assert not changed(b"anything", ""), "nobody tells"
    assert changed(b'{"a":1', 9), "cut short"
