"""Which requests are the same. Settled: a golden digest that changes re-keys every recording out there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import miss, recording
from stackproof.recorder.identity import Form, Identity, describe, digest, model_of

PROJECT = Path(__file__).parents[3]


def _form(body: bytes = b"", content_type: str = "application/json", **changed: Any) -> Form:
    request = {"provider": "ollama", "method": "POST", "path": "/chat/completions", "query": "", **changed}
    return describe(body=body, content_type=content_type, **request)


def _json(value: Any, **changed: Any) -> str:
    return digest(_form(json.dumps(value).encode(), **changed))


def _multipart(boundary: str = "AAA", content: bytes = b"\xff\xfb\x90\x00", prompt: str = "hi") -> tuple[str, bytes]:
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n{prompt}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n'
        f"Content-Type: audio/mpeg\r\n\r\n"
    ).encode() + content
    return f"multipart/form-data; boundary={boundary}", body + f"\r\n--{boundary}--\r\n".encode()


CHAT = {"model": "smollm2:135m", "messages": [{"role": "user", "content": "Grüße 🙂"}], "temperature": 0.7}

# (request, digest): computed once. If one fails, the code is wrong, not the table.
GOLDEN: list[tuple[dict[str, Any], str]] = [
    ({"body": json.dumps(CHAT).encode()}, "3019a2abdccf2721b7cf3033ef60429c3e64e3cd2ad25d935dd499a08b449823"),
    (
        {"body": json.dumps({**CHAT, "stream": True, "stream_options": {"include_usage": True}}).encode()},
        "790a87f53cdb21050cbbe41893886924a6063a62e72dbf85f798bbd0dc24d795",
    ),
    (
        {"body": json.dumps(CHAT).encode(), "provider": "vllm"},
        "b959fb24a35c5bc3ce7db337757bd4df532689ad632a6585ad1f2d8f50f4798d",
    ),
    (
        {"path": "/embeddings", "body": b'{"input":["a",[1,2]],"model":"m","dimensions":null,"x":1e-7,"y":-0.0}'},
        "6d62f86df700c381580f42e4409509f221dcdfbe4d71fbb8700d37ac6a5f1503",
    ),
    (
        {"path": "/responses", "body": b'{"model":"m","input":"x","previous_response_id":"resp_rec-0-1-1"}'},
        "90fef39089d5b9f001c26d3a0500cc05817fe5b398787f9741d559c0131bd4ac",
    ),
    (
        {"provider": "anthropic", "path": "/v1/messages", "body": b'{"max_tokens":9007199254740993}'},
        "26afe58f6aa87e3d6b8a14d25192862578eec1ae800d9e93c0e029d94bed49e5",
    ),
    ({"method": "get", "path": "/models"}, "2e9373a9fb2ca42f550edec8c78154b0dd79b543ef83761b1ddcbd0929c99c81"),
    (
        {"method": "GET", "path": "/models/a%2Fb", "query": "b=2&a=1&a=&key=AIzaXYZ"},
        "2783653434f11ed79699bb76e903884bcccb302454bed8eae697316308fca728",
    ),
    (
        {"path": "/v1beta/models/gemini-2.5-flash:generateContent", "query": "alt=sse", "body": b"{}"},
        "6d2f6a54cb6ecde74d5041fd00ec28d23b8eb141e0884982782a03a19a6cd7d7",
    ),
    (
        {"provider": "tavily", "path": "/search", "body": b'{"api_key":"tvly-abc","query":"q","n":{"password":"p"}}'},
        "58e300334ad93ef7fe38a570a94c643abbec8e9c0d4b3bea453963b126eeed8a",
    ),
    (
        {"path": "/audio/transcriptions", "content_type": _multipart()[0], "body": _multipart()[1]},
        "b6903a02dedfc32ac1cd9e25e33b8d202fe88dfe361abed34dcc20cc43712a9e",
    ),
    (
        {"content_type": "application/x-www-form-urlencoded", "body": b"grant=x&password=p&name=J%C3%B6rg+A"},
        "59f365de792e50dab1fdb5bce3247fcaf2b900f13dc9455c0b1736eba8805fb2",
    ),
    (
        {"content_type": "application/octet-stream", "body": b"\x00\x01\x02"},
        "1885b849f447b2fe0d820e65f1f9d2be0ff27dd92c6aa720f0a261f3d4e66f91",
    ),
    ({"body": b'{"a":1,"a":2}'}, "0a1d583133860df10377dedb85930d26e0b6b3f5bfd2857941337aaa3562b436"),
    (
        {"content_type": "", "body": b'[{"b":2,"a":1.0}]'},
        "a281f55b64114691b325d9f1970e47661e2616f818e47a8feadda2b1f8d36526",
    ),
    (
        {"method": "DELETE", "path": "/responses/resp_1", "content_type": ""},
        "11a778a4b8c6833b6ed5fef46b552e5be080b4116fcd86720c020ab4465b2e1a",
    ),
]


@pytest.mark.parametrize(("request_", "expected"), GOLDEN)
def test_golden_digests_never_change(request_: dict[str, Any], expected: str) -> None:
    assert digest(_form(**request_)) == expected


def test_the_digest_of_a_scope_never_changes() -> None:
    from stackproof.recorder.scope import Scope

    name = "tests/integration/base/test_chat.py::test_it[ä-1]"
    identity = Identity(scope=Scope(name=name).digest, request="0123456789abcdef0123" + "f" * 44)
    assert identity.file_name() == "0c88397a114d-0123456789abcdef0123.json"
    assert identity.file_name(2) == "0c88397a114d-0123456789abcdef0123-2.json"


def test_every_recording_of_this_project_is_named_after_what_it_says() -> None:
    files = [path for path in (PROJECT / "recordings").rglob("*.json") if not path.name.startswith("models-")]
    if not files:
        pytest.skip("this checkout has no recordings")
    for path in files:
        found = recording.read(str(path))
        assert found is not None
        assert digest(miss.form_of(found["request"]))[:20] == path.name[13:33], path.name


# -- the same


def test_order_and_spacing_of_json_do_not_matter() -> None:
    forms = [_form(raw) for raw in (b'{"a":1,"b":{"c":2,"d":3}}', b'{ "b": {"d": 3, "c": 2},\n "a": 1 }')]
    assert digest(forms[0]) == digest(forms[1])


def test_escapes_and_characters_are_one() -> None:
    assert digest(_form(b'{"a":"\\u00e9"}')) == digest(_form('{"a":"é"}'.encode()))


def test_the_method_is_read_in_any_case_and_the_query_in_any_order() -> None:
    assert digest(_form(method="get", query="a=1&b=2")) == digest(_form(method="GET", query="b=2&a=1"))


def test_a_boundary_is_made_up_anew_by_every_client() -> None:
    assert len({digest(_form(body, kind)) for kind, body in (_multipart("AAA"), _multipart("B'B+_,-./:=?"))}) == 1


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON", ""])
def test_how_the_content_type_says_json_does_not_matter(kind: str) -> None:
    assert digest(_form(b'{"a":1}', kind)) == digest(_form(b'{"a":1}'))


def test_a_key_of_another_day_is_the_same_request() -> None:
    assert _json({"api_key": "one", "q": 1}) == _json({"api_key": "two", "q": 1})
    assert digest(_form(query="key=one&alt=sse")) == digest(_form(query="key=two&alt=sse"))


# -- not the same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ({"a": None}, {}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": "score: 3 of 10"}, {"a": "score: 9 of 10"}),
        ({"a": 3.1415926}, {"a": 3.1415901}),
        ({"attributes": {"a": 1}}, {"attributes": {"b": 2}}),
        ({"a": "é"}, {"a": "e\u0301"}),
        ({"messages": [1]}, {"messages": [1, 2]}),
        ({"input": "x"}, {"input": ["x"]}),
        ({"document_id": "1"}, {"document_id": "2"}),
    ],
)
def test_different_bodies_keep_apart(one: Any, other: Any) -> None:
    assert _json(one) != _json(other)


@pytest.mark.parametrize(
    "changed",
    [{"provider": "vllm"}, {"method": "PUT"}, {"path": "/completions"}, {"query": "a=1"}, {"query": "a="}],
)
def test_everything_but_host_and_headers_counts(changed: dict[str, str]) -> None:
    assert digest(_form(b"{}", **changed)) != digest(_form(b"{}"))


def test_a_changed_part_of_a_multipart_is_named() -> None:
    kind, body = _multipart()
    for changed, where in ((_multipart(prompt="ho"), "[0].text"), (_multipart(content=b"x"), "[1].sha256")):
        forms = [_form(body, kind), _form(changed[1], changed[0])]
        paths = [path for path, _, _ in miss.differences(forms[0], forms[1])]
        assert f"body.multipart{where}" in paths


@pytest.mark.parametrize(("one", "other"), [(b"\xff", b"\xfe"), (b"%FF", b"%FE"), (b"a+b", b"a%2Bb")])
def test_bytes_of_a_form_or_query_never_fold(one: bytes, other: bytes) -> None:
    kind = "application/x-www-form-urlencoded"
    assert digest(_form(b"a=" + one, kind)) != digest(_form(b"a=" + other, kind))
    if one.isascii():
        assert digest(_form(query=f"a={one.decode()}")) != digest(_form(query=f"a={other.decode()}"))


@pytest.mark.parametrize("raw", [b'{"a":1,"a":2}', b'{"a":NaN}', b"{", b"[" * 500, b"\xff"])
def test_a_body_that_is_no_plain_json_counts_by_its_bytes(raw: bytes) -> None:
    body = _form(raw)["body"]
    assert body["bytes"] == len(raw)
    assert body["because"] == "not plain JSON"
    assert digest(_form(raw)) != digest(_form(raw + b" "))


def test_a_multipart_that_is_none_counts_by_its_bytes() -> None:
    assert set(_form(b"no parts", "multipart/form-data; boundary=A")["body"]) == {"sha256", "bytes"}


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5)))
def test_a_query_is_the_same_however_it_is_spelled(fields: dict[str, str]) -> None:
    spelled = "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in reversed(fields.items()))
    assert digest(_form(query=spelled)) == digest(_form(query=urlencode(fields)))


@given(
    st.binary(),
    st.sampled_from(["application/json", "application/x-www-form-urlencoded", "multipart/x; boundary=A", ""]),
)
def test_a_file_replays_against_the_request_that_made_it(body: bytes, kind: str) -> None:
    form = _form(body, kind)
    kept = json.loads(recording.dumps({**form, "url": "", "headers": {}}).encode("utf-8", "backslashreplace"))
    assert digest(miss.form_of(kept)) == digest(form)


# -- what is shown of it


@pytest.mark.parametrize(
    ("form", "model"),
    [
        (_form(b'{"model":"gpt-4"}'), "gpt-4"),
        (_form(path="/v1beta/models/gemini-2.5-flash:streamGenerateContent"), "gemini-2.5-flash"),
        (_form(path="/deployments/my-gpt/chat/completions"), "my-gpt"),
        (_form(path="/models"), None),
        (_form(b'{"model":7}'), None),
        (_form(b"[1]"), None),
    ],
)
def test_the_model_that_a_request_names(form: Form, model: str | None) -> None:
    assert model_of(form) == model


def test_small_fields_of_a_multipart_are_readable_and_files_are_digests() -> None:
    kind, body = _multipart()
    parts = _form(body, kind)["body"]["multipart"]
    assert parts[0] == {"name": "prompt", "filename": None, "content_type": None, "text": "hi"}
    assert parts[1]["filename"] == "a.mp3"
    assert parts[1]["bytes"] == 4


def test_a_secret_field_of_a_multipart_is_masked() -> None:
    body = b'--A\r\nContent-Disposition: form-data; name="api_key"\r\n\r\ntvly-secret\r\n--A--\r\n'
    assert _form(body, "multipart/form-data; boundary=A")["body"]["multipart"][0]["text"] == "***"
