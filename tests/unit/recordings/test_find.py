"""`recordings find`: by file, identity and digest; what is there, where it is looked for, and who else has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackproof.errors import UsageError
from stackproof.recorder import recording
from stackproof.recorder.scope import Scope
from stackproof.recordings import finding
from stackproof.recordings.finding import Asked

TEST = "tests/integration/base/test_chat.py::test_it"
HELLO = {"model": "m", "say": "hello"}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("001bc6314b18-1dfe91bf9b9c8e31b7d8", Asked(scope="001bc6314b18", request="1dfe91bf9b9c8e31b7d8", number=1)),
        (
            "some/folder/001bc6314b18-1dfe91bf9b9c8e31b7d8-12.json",
            Asked(scope="001bc6314b18", request="1dfe91bf9b9c8e31b7d8", number=12),
        ),
        ("models-2e9373a9fb2ca42f550e-6fa3c1b93243.json", Asked(request="2e9373a9fb2ca42f550e")),
        ("1DFE", Asked(either="1dfe")),
        ("a" * 64, Asked(either="a" * 64)),
    ],
)
def test_what_an_identity_may_look_like(text: str, asked: Asked) -> None:
    assert finding.parse(text) == asked


@pytest.mark.parametrize("text", ["", "abc", "xyz1", "a" * 65, "001bc6314b18-1dfe", "models-x.json", "../"])
def test_what_is_no_identity(text: str) -> None:
    with pytest.raises(UsageError, match="is no identity"):
        finding.parse(text)


def test_a_test_is_sent_to_the_command_that_knows_tests(book: Any) -> None:
    said = book.say("find", TEST)
    assert said.code == 2
    assert "recordings explain TEST" in said.err


def test_a_recording_that_is_where_it_is_looked_for(book: Any) -> None:
    book.record(TEST, HELLO, HELLO)
    first, second = sorted(book.files(), key=len)
    for name in (first, Path(first).name, Path(first).stem, second):
        said = book.say("find", name)
        assert said.code == 0, said
        assert f"scope    {TEST}\n" in said.out
        assert "request  POST /chat/completions of ollama, model m\n" in said.out
        assert "  ollama  recordings/ollama/base    there\n" in said.out
        assert "          recordings/ollama/common  not there\n" in said.out
        assert "2 recordings of it" in said.out


def test_a_number_that_is_not_there_tells_which_are(book: Any) -> None:
    book.record(TEST, HELLO)
    name = Path(book.files()[0]).stem
    said = book.say("find", f"{name}-2")
    assert said.code == 6
    assert f"not there, but {name}.json" in said.out


def test_a_request_that_another_test_has_asks_whether_the_test_was_renamed(book: Any) -> None:
    old = "tests/integration/base/test_chat.py::test_old"
    book.record(old, HELLO)
    book.replay(TEST, HELLO)
    request = Path(book.files()[0]).stem.partition("-")[2]
    said = book.say("find", f"{Scope(name=TEST).digest[:12]}-{request}")
    assert said.code == 6
    assert f"scope    {TEST}\n" in said.out  # from the run, as no recording tells it
    assert "recordings/ollama/base    not there\n" in said.out
    assert "nothing is recorded of it" in said.out
    assert f"  stackproof recordings rename {old} {TEST}\n" in said.out


def test_a_scope_that_nobody_knows_is_said(book: Any) -> None:
    book.record(TEST, HELLO)
    request = Path(book.files()[0]).stem.partition("-")[2]
    said = book.say("find", f"0123456789ab-{request}")
    assert said.code == 6
    assert "0123456789ab, which no recording and none of the last runs names" in said.out
    assert "recorded for 1 other scope" in said.out
    assert "renamed" not in said.out


def test_a_request_alone_is_found_in_every_setup(book: Any) -> None:
    book.record(TEST, HELLO)
    book.record(TEST, HELLO, setup="other", run="cccccc")
    request = Path(book.files()[0]).stem.partition("-")[2]
    said = book.say("find", request[:7])
    assert said.code == 0
    assert "2 recordings with this digest" in said.out
    assert [item["setup"] for item in book.say("find", request, "--json").json["found"]] == ["ollama", "other"]
    assert [item["setup"] for item in book.say("find", request, "--json", "--setup", "other").json["found"]] == [
        "other"
    ]
    assert book.say("find", "0123456").code == 6
    assert "did you mean 'other'" in book.say("find", request, "--setup", "othr").err


def test_a_recording_in_a_folder_where_nobody_looks(book: Any) -> None:
    book.record(TEST, HELLO)
    lies = book.root / book.files()[0]
    elsewhere = lies.parent.parent / "attic" / lies.name
    elsewhere.parent.mkdir()
    lies.rename(elsewhere)
    said = book.say("find", lies.name)
    assert said.code == 6
    assert f"attic/{lies.name}, in a folder in which nobody looks for it" in said.out


def test_a_damaged_file_is_there_and_said_to_be_damaged(book: Any) -> None:
    book.record(TEST, HELLO, HELLO)
    second = max(book.files(), key=len)
    (book.root / second).write_text("{")
    said = book.say("find", second)
    assert said.code == 0
    assert "damaged: cannot be read as a recording" in said.out


def test_a_list_of_models_belongs_to_no_scope(book: Any) -> None:
    book.record("stack", None, path="/models")
    said = book.say("find", Path(book.files()[0]).name)
    assert said.code == 0
    assert "a list of models, which belongs to no scope, GET /models of ollama" in said.out


def test_json_tells_all(book: Any) -> None:
    book.record(TEST, HELLO)
    file = book.files()[0]
    told = book.say("find", file, "--json").json
    assert told["file"] == Path(file).name
    assert told["scope"] == TEST
    assert told["is_there"] is True
    assert told["looked_in"] == [
        {"setup": "ollama", "folder": "recordings/ollama/base", "files": [Path(file).name], "is_there": True},
        {"setup": "ollama", "folder": "recordings/ollama/common", "files": [], "is_there": False},
    ]
    assert told["found"][0]["recorded_at"] == recording.read(file)["provenance"]["recorded_at"]  # type: ignore[index]
    assert told["same_request"] == []


def test_without_a_folder_of_recordings(book: Any) -> None:
    said = book.say("find", "0123456")
    assert said.code == 2
    assert "there is no folder of recordings" in said.err
