"""`recordings identity`: the same name that the recorder gives to the same request."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

TEST = "tests/integration/base/test_chat.py::test_it"
SEARCH = "tests/integration/search/test_find.py::test_it"
HELLO = {"model": "m", "say": "hello"}
URL = "http://localhost:11434/v1/chat/completions"


@pytest.mark.parametrize(
    "whom",
    [
        ("--url", URL),
        ("--url", URL.replace("localhost", "127.0.0.1")),
        ("--url", "{OLLAMA_URL}/chat/completions"),
        ("--provider", "ollama", "--path", "/chat/completions"),
        ("--provider", "ollama", "--path", "chat/completions"),
    ],
)
def test_a_request_that_is_recorded_is_found_however_it_is_described(book: Any, whom: tuple[str, ...]) -> None:
    book.record(TEST, HELLO)
    said = book.say("identity", "--setup", "ollama", "--test", TEST, *whom, "--body", '{"say":"hello",  "model":"m"}')
    assert said.code == 0, said
    name = Path(book.files()[0]).name
    assert f"name    {name}\n" in said.out
    assert "ollama  recordings/ollama/base    there\n" in said.out


def test_the_variable_of_the_caller_decides_where_the_provider_is(book: Any) -> None:
    book.record(TEST, HELLO)
    body = json.dumps(HELLO)
    given = ("identity", "--setup", "ollama", "--test", TEST, "--body", body)
    moved = "http://gpu.invalid:1/prefix/v1"
    said = book.say(*given, "--url", f"{moved}/chat/completions", OLLAMA_URL=moved)
    assert said.code == 0, said
    assert book.say(*given, "--url", f"{moved}/chat/completions").code == 2


def test_what_is_not_there_says_so_and_who_has_the_same(book: Any) -> None:
    book.record(TEST, HELLO)
    said = book.say("identity", "--url", URL, "--setup", "ollama", "--test", f"{TEST}_2", "--body", json.dumps(HELLO))
    assert said.code == 6
    assert "nothing is recorded of it" in said.out
    assert f"stackproof recordings rename {TEST} {TEST}_2" in said.out


def test_a_body_from_a_file_or_from_standard_input(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    book.record(TEST, HELLO)
    given = ("identity", "--setup", "ollama", "--url", URL, "--test", TEST, "--body")
    (book.root / "body.json").write_text(json.dumps(HELLO))
    assert book.say(*given, "@body.json").code == 0
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(HELLO).encode())))
    assert book.say(*given, "-").code == 0
    said = book.say(*given, "@none.json")
    assert (said.code, said.out) == (2, "")
    assert "none.json cannot be read" in said.err


def test_the_content_type_decides_how_a_body_is_compared(book: Any) -> None:
    given = ("identity", "--setup", "ollama", "--url", URL, "--json", "--body")
    form = book.say(*given, "b=2&a=1", "--header", "Content-Type: application/x-www-form-urlencoded").json["form"]
    assert form["body"] == {"form": [["b", "2"], ["a", "1"]]}
    assert set(book.say(*given, "plain", "--header", "content-type: text/plain").json["form"]["body"]) == {
        "sha256",
        "bytes",
    }
    assert "is no header" in book.say(*given, "x", "--header", "content-type").err


def test_rules_are_those_of_the_tests_suite_or_of_the_named_one(book: Any) -> None:
    body = json.dumps({"messages": [{"role": "tool", "content": "document_id: file-1"}]})
    given = ("identity", "--setup", "ollama", "--url", URL, "--body", body)
    by_test = book.say(*given, "--test", SEARCH)
    assert "rules   {name: file_search}   suite search\n        acted: file_search; without them " in by_test.out
    assert "document_id: *" in by_test.out
    assert "document_id: *" in book.say(*given, "--suite", "search").out
    assert "document_id: file-1" in book.say(*given, "--test", TEST).out
    assert "did you mean 'search'" in book.say(*given, "--suite", "serach").err


def test_a_list_of_models_belongs_to_no_scope(book: Any) -> None:
    given = ("identity", "--setup", "ollama", "--url", "{OLLAMA_URL}/models")
    assert book.say(*given).code == 6
    book.record("stack", None, path="/models")
    said = book.say(*given, "--test", TEST)
    assert said.code == 0, said
    assert "scope   none: a list of models" in said.out
    assert f"there: {Path(book.files()[0]).name}" in said.out


def test_json_holds_form_digests_and_name(book: Any) -> None:
    book.record(TEST, HELLO)
    told = book.say(
        "identity", "--url", URL, "--setup", "ollama", "--test", TEST, "--body", json.dumps(HELLO), "--json"
    )
    facts = told.json
    assert facts["file"] == Path(book.files()[0]).name
    assert facts["file"].startswith(f"{facts['scope_digest'][:12]}-{facts['request_digest'][:20]}")
    assert json.loads(facts["canonical"]) == facts["form"]
    assert facts["is_there"] is True


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((), "nothing says where the request goes"),
        (("--provider", "ollama"), "nothing says where the request goes"),
        (("--url", URL, "--path", "/x"), "--url names the provider and the path already"),
        (("--provider", "olama", "--path", "/x"), "unknown provider 'olama' (--provider), did you mean 'ollama'?"),
        (("--url", "http://nobody.invalid/x"), "belongs to no provider of this setup"),
        (("--url", "{OLAMA_URL}/x"), "unknown variable 'OLAMA_URL' (--url), did you mean 'OLLAMA_URL'?"),
        (("--url", "chat/completions"), "is no URL"),
        (("--url", "https://oauth2.googleapis.com/token"), "belongs to no provider"),
        (("--setup", "ollamaa", "--url", URL), "unknown setup 'ollamaa'"),
        (
            ("--setup", "ollama,gpt", "--url", URL),
            "'ollama,gpt' is several setups, and one request is looked up in one of them",
        ),
    ],
)
def test_mistakes_are_one_sentence(book: Any, given: tuple[str, ...], sentence: str) -> None:
    said = book.say("identity", *given)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert "Traceback" not in said.err
