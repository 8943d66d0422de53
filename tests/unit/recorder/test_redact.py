"""What must not reach a file: fields of known names, values of known secrets, texts shaped like keys."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.recorder import redact
from stackproof.recorder.canonical import parse

SECRET = 'p4ss/w0rd+"&=é-Zz'
SECRETS = {"SOME_KEY": SECRET}


def _seen(text: str, secrets: dict[str, str] | None = None) -> bool:
    return redact.find({"response": {"body": {"text": text}}}, SECRETS if secrets is None else secrets) is not None


# -- fields of known names


def test_fields_of_secret_names_are_masked_at_every_depth() -> None:
    inner = '{"Password":"b","x":"c","api_key":null,"secret":{"password":"d","k":"e"}}'
    shown = parse(f'{{"api_key":"a","n":[{inner}],"api_key2":"f"}}', redact.read_masked)
    assert shown == {
        "api_key": "***",
        "n": [{"Password": "***", "x": "c", "api_key": None, "secret": {"password": "***", "k": "e"}}],
        "api_key2": "f",
    }


def test_an_escaped_name_is_masked_too() -> None:
    assert parse(b'{"api\\u005fkey":"a"}', redact.read_masked) == {"api_key": "***"}


def test_a_schema_that_speaks_of_a_password_is_no_password() -> None:
    schema = {"properties": {"password": {"type": "string"}}, "required": ["password"]}
    assert parse(json.dumps(schema), redact.read_masked) == schema


def test_queries_and_forms() -> None:
    pairs = [("key", "AIza"), ("Sig", "s"), ("alt", "sse"), ("api_key", "k")]
    assert redact.query(pairs) == [("key", "***"), ("Sig", "***"), ("alt", "sse"), ("api_key", "***")]
    # `key` is an ordinary name in a form.
    assert redact.pairs(pairs) == [("key", "AIza"), ("Sig", "s"), ("alt", "sse"), ("api_key", "***")]


def test_an_answer_is_masked_without_changing_what_the_caller_has() -> None:
    answer = {"client_secret": "ek_1", "items": [{"token": "t", "id_token": "x"}], "n": 1}
    assert redact.response(answer) == {"client_secret": "***", "items": [{"token": "t", "id_token": "***"}], "n": 1}
    assert answer["client_secret"] == "ek_1"


# -- which values are secrets


def test_short_and_placeholder_values_are_not_searched_for() -> None:
    environ = {
        "A": "short",
        "B": "EMPTY",
        "C": "stackproof-replay",
        "D": "longenough",
        "E": "  padded-value\n",
        "F": "x" * 9,
    }
    assert redact.known_values(["A", "B", "C", "D", "E", "GONE"], environ) == {"D": "longenough", "E": "padded-value"}


# -- finding them


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"before {SECRET} after",
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").replace("%2F", "%2f"),
        json.dumps({"argument": SECRET}),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        f"data:text/plain;base64,{base64.b64encode(SECRET.encode()).decode()}",
        base64.b64encode(json.dumps({"argument": SECRET}).encode()).decode(),
        base64.b64encode(base64.b64encode(b"x" + SECRET.encode())).decode(),
    ],
)
def test_a_secret_is_found_in_every_dress(text: str) -> None:
    assert _seen(text)


@given(st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_base64_is_found_at_every_alignment(before: bytes, after: bytes, encode: Any) -> None:
    assert _seen(f"({encode(before + SECRET.encode() + after).decode()})")


@given(st.text(alphabet="abcXYZ019_-", min_size=8, max_size=40), st.integers(0, 2))
def test_every_long_enough_value_is_found_encoded(value: str, shift: int) -> None:
    encoded = base64.b64encode(b"_" * shift + value.encode() + b"tail").decode()
    assert _seen(encoded, {"K": value})


@pytest.mark.parametrize(
    ("what", "key"),
    [
        ("OpenAI", "sk-proj-Zk3" + "a1B_" * 10),
        ("OpenAI", "sk-ant-api03-" + "aB3-" * 10),
        ("OpenAI", "sk-or-v1-" + "0a" * 32),
        ("Google", "AIza" + "Sy0_-" * 7),
        ("Tavily", "tvly-dev-0123456789abcdef"),
        ("Groq", "gsk_" + "a1" * 26),
        ("Hugging Face", "hf_" + "aB" * 17),
        ("AWS", "AKIA" + "Q7" * 8),
        ("bearer", "Authorization: Bearer 0123456789abcdefghij"),
        ("web token", ".".join(("eyJ" + "hbGciOi" * 3, "eyJ" + "zdWIiOi" * 3, "dozjgNryP4J3"))),
        ("private key", "-----BEGIN " + "RSA PRIVATE KEY-----"),
    ],
)
def test_keys_are_known_by_their_shape_plain_and_encoded(what: str, key: str) -> None:
    for text in (key, f"it is '{key}'.", base64.b64encode(f"x={key}".encode()).decode(), quote(key, safe="")):
        assert _seen(text, {}), text
    found = redact.find({"a": [{"b": key}]}, {})
    assert found is not None
    assert what in found[0]
    assert found[1] == "a[0].b"


@pytest.mark.parametrize(
    "text",
    [
        "the risk-assessment-of-long-hyphenated-words 2024",
        "sk-estimator-doc-link-fitted",
        "sk-learn is not a key",
        "ask-me-anything-about-12345678901234567890",
        "Bearer authentication-is-required-here",
        "use a bearer token of twenty characters",
        "tests/integration/base/test_chat.py::test_a_streamed_answer_is_accumulated",
        "3f0c2a9e-7d41-4f9b-8a57-0123456789ab",
        "0123456789abcdef" * 4,
        "gAAAAABm" + "Zk3" * 40,
        "hf_transfer",
        "AKIA",
        "eyJhbGciOiJIUzI1NiJ9",
        "",
        "%zz%",
        "====",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ],
)
def test_ordinary_text_raises_no_alarm(text: str) -> None:
    assert not _seen(text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_text_without_the_secret_raises_no_alarm(text: str) -> None:
    assert not _seen(text) or SECRET in text


def test_the_place_is_named_and_never_the_secret() -> None:
    found = redact.find({"request": {"body": {"json": {"messages": [{"content": f"is it {SECRET}?"}]}}}}, SECRETS)
    assert found == ("the value of SOME_KEY", "request.body.json.messages[0].content")
    assert redact.find({"a": {SECRET: 1}}, SECRETS) == ("the value of SOME_KEY", "a")
    assert redact.find({"a": [1, None, True, "x"]}, SECRETS) is None


def test_a_megabyte_is_searched_in_no_time() -> None:
    body = base64.b64encode(bytes(range(256)) * 4096).decode()
    started = time.process_time()
    assert not _seen(body)
    assert not _seen("-" * 1_000_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ("", "sk-"),
        ("", "sk-a_b-"),
        ("sk-", "-"),
        ("", "AIza-"),
        ("", "tvly-aaaaaaaaaaa-"),
        ("tvly-", "tvly-"),
        ("", "-gsk_aaaaaaaaaa"),
        ("gsk_", "a"),
        ("", "-hf_aaaaaaaaaaaaaa"),
        ("hf_", "a"),
        ("", "AKIA-ASIAQQQQQQQQQQQQ-"),
        ("", "Bearer "),
        ("", "Bearer/"),
        ("Bearer ", "bearer/"),
        ("", "bearer aaaaaaaaaaaaaaaaaaaaaaa/"),
        ("", "eyJ-"),
        ("", "eyJaaaaaaaaaaaa-"),
        ("", "eyJ-eyJaaaaaaaaaaaa."),
        ("eyJaaaaaaaaaa.", "eyJ-"),
        ("eyJaaaaaaaaaa.eyJaaaaaaaaaa.", "eyJaaaaaaaaaa-"),
        ("", "-----BEGIN "),
        ("-----BEGIN ", "PRIVATE "),
        ("-----BEGIN ", "PRIVATE KEY"),
        ("-----BEGIN ", "-----"),
        ("sk-", "%73k-"),
        ("sk-", "c2st"),
    ],
)
def test_text_made_against_a_pattern_takes_as_many_times_longer_as_it_is_longer(head: str, unit: str) -> None:
    def seconds(size: int) -> float:
        text = head + unit * (size // len(unit))
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            redact.find(text, {})
            redact.conceal(text, {})
            best = min(best, time.process_time() - started)
        return best

    size = 8_000
    while seconds(size) < 0.002:  # what is too quick to be measured
        size *= 4
    # By the square it would be 16 times as long, each time; a machine with other things to do is not always slow.
    assert any(seconds(4 * size) < 9 * seconds(size) for _ in range(5))


def test_what_a_pattern_passes_over_hides_no_key_behind_it() -> None:
    key = "sk-" + "a1" * 12
    assert _seen(f"sk-{'no-digit-in-here-' * 3} {key}", {})
    assert _seen(f"sk-short sk-{key}", {})
    token = ".".join(("eyJ" + "hbGciOi" * 3, "eyJ" + "zdWIiOi" * 3, "dozjgNryP4J3"))
    assert _seen(f"eyJ{'a' * 20}.{token}", {})
    assert _seen(f"Bearer {'a' * 20}-Bearer {'a1' * 10}", {})
    text = "sk-aaaaaaaaaaaaaaaaaaaaaaaa {}, eyJaaaaaaaaaaaa.eyJ.{}"
    assert redact.conceal(text.format(key, token), {}) == text.format("***", "***")


# -- taking them out


@pytest.mark.parametrize("dress", [str, quote, json.dumps, lambda value: base64.b64encode(value.encode()).decode()])
def test_nothing_is_found_in_what_was_concealed(dress: Any) -> None:
    value = {"message": f"sent {dress(SECRET)} to", "list": [dress(SECRET), 7, {SECRET: None}], "kept": "ordinary"}
    shown = redact.conceal(value, SECRETS)
    assert redact.find(shown, SECRETS) is None
    assert shown["kept"] == "ordinary"
    assert shown["list"][1] == 7
    assert shown["message"].startswith("sent ") or shown["message"] == "***"


def test_what_holds_no_secret_is_concealed_to_itself() -> None:
    value = {"a": ["Grüße", None, 1.5, {"b": True}]}
    assert redact.conceal(value, SECRETS) == value
