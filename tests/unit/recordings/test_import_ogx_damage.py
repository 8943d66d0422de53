"""Files that are none, or that were made to do harm: each is refused with a reason, and nothing else happens."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog
from stackproof.catalog.records import SetupSpec
from stackproof.recordings.importing import ogx, walk
from stackproof.recordings.importing.imported import Choices
from stackproof.recordings.importing.place import Place
from stackproof.recordings.importing.report import Report

URL = "http://0.0.0.0:11434/v1/v1/chat/completions"
CHAT = {"__type__": "openai.types.chat.chat_completion.ChatCompletion", "__data__": {"id": "a"}}


@cache
def known() -> Mapping[str, SetupSpec]:
    """The setups that there are."""
    return catalog.load(Path(__file__).parents[3]).setups


def file(body: Any = CHAT, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A whole file of a chat; `more` replaces parts of it."""
    request = {"method": "POST", "url": URL, "body": arguments or {"model": "m"}, "endpoint": "/v1/chat/completions"}
    response = {"body": body, "is_streaming": False}
    whole = {"test_id": "tests/integration/a/test_a.py::test_a", "request": request, "response": response}
    return whole | more


def bring_in(folder: Path, content: bytes | dict[str, Any] | list[Any], name: str = "a.json") -> Report:
    """Import one file of a folder; nothing of it is written outside of `folder/out`."""
    (folder / "in").mkdir(exist_ok=True)
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / "in" / name).write_bytes(raw)
    return walk.Import(
        root=folder / "in",
        readers=[ogx],
        choices=Choices(setups=known()),
        place=Place(folder / "out", integration_root="tests/integration"),
    ).run(walk.sources(folder / "in", [ogx]))


def refusal(folder: Path, content: Any) -> str:
    """Why a file is refused."""
    report = bring_in(folder, content)
    assert report.imported == 0
    assert not (folder / "out").exists()
    (refused,) = report.refused
    assert refused.source == "a.json"
    return refused.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is not plain JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"\x00\x01\x02", "it is not plain JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"request": {}, "response"', "it is not plain JSON: Expecting ':' delimiter: line 1 column 27 (char 26)"),
        (b'["request", "response"]', "it is no JSON object"),
        (b'{"other": 1}', "its request or its response is no object"),
        (b'{"request": [], "response": {}}', "its request or its response is no object"),
        (b'{"format": 1, "request": {}, "response": {}}', "it is a recording of this project, not of OGX"),
        (b'{"request": {}, "response": {}}', "it names no endpoint"),
        (b'{"request": {"endpoint": ["/v1/models"]}, "response": {}}', "it names no endpoint"),
        (b'{"request": {"endpoint": "/v9/x"}, "response": {}}', "its endpoint is '/v9/x', which is not known"),
    ],
)
def test_what_is_no_file_of_ogx(tmp_path: Path, content: bytes, reason: str) -> None:
    assert refusal(tmp_path, content) == reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"request": {}, "response": {}, "request": {}}', "duplicate key"),
        (b'{"request": {"body": NaN}, "response": {}}', "NaN is not JSON"),
        (b'{"request": {"body": "\xff\xfe"}, "response": {}}', "can't decode"),
        (b'{"request": ' + b"[" * 5000 + b"]" * 5000 + b', "response": {}}', ""),
        (b'{"request": ' + b'{"a":' * 300 + b"1" + b"}" * 300 + b', "response": {}}', "levels deep"),
        (b'{"request": ' + b"9" * 10_000 + b', "response": {}}', ""),
    ],
)
def test_json_that_readers_read_differently(tmp_path: Path, content: bytes, reason: str) -> None:
    told = refusal(tmp_path, content)
    assert told.startswith("it is not plain JSON")
    assert reason in told


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "builtins.eval", "openai.types.chat.chat_completion.ChatCompletion.__init__", "openai.OpenAI",
        "openai.types.responses.response_x_event.Response\nEvent", "subprocess.Popen",
    ],
)  # fmt: skip
def test_a_class_that_is_not_in_the_table_is_named_and_never_looked_for(tmp_path: Path, name: str) -> None:
    told = refusal(tmp_path, file({"__type__": name, "__data__": {"args": "true"}}))
    assert told == (f"its answer has an object of {name!r}, which is not known here")


def test_the_name_of_a_program_in_the_arguments_is_data(tmp_path: Path) -> None:
    harmless = {"__type__": "os.system", "__data__": "touch never"}
    report = bring_in(tmp_path, file(arguments={"model": "m", "metadata": harmless}))
    assert report.refused == ()
    (path,) = (tmp_path / "out").rglob("*.json")
    assert json.loads(path.read_text(encoding="utf-8"))["request"]["body"]["json"]["metadata"] == harmless


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (file(None), "its answer is null, and it says of no exception"),
        (file("text"), "its answer is no object of an SDK"),
        (file({"__type__": CHAT["__type__"], "__data__": [1]}), "its answer is no object of an SDK"),
        (file({"__data__": {}}), "its answer is no object of an SDK"),
        (file({"__type__": "", "__data__": {}}), "its answer is no object of an SDK"),
        (file([CHAT]), "its answer is no object of an SDK"),
        (file(response={"body": CHAT, "is_streaming": True}), "its answer is a stream without a list of events"),
        (file(response={"body": [CHAT], "is_streaming": True}), "its answer has an object of"),
        (file(response={"body": None, "is_exception": True}), "it says of an exception and not of which"),
        (
            file(response={"body": None, "is_exception": True, "exception_data": {"type": "KeyError"}}),
            "its exception is 'KeyError', which is no answer of a provider",
        ),
        (file(request={"endpoint": "/v1/chat/completions", "body": {}, "url": 7}), "its request has no URL"),
        (file(request={"endpoint": "/v1/chat/completions", "body": {}, "url": "http://x/"}), "does not end with"),
        (file(request={"endpoint": "/v1/chat/completions", "url": URL}), "its request has no arguments"),
        (file(arguments={"extra_body": 1}), "its extra_body is no object"),
        (file(arguments={"extra_query": {"a": []}}), "its extra_query is not one of plain values"),
        (file(test_id=7), "its test_id is no text"),
        (file(id_normalization_mapping=[1]), "its id_normalization_mapping is no object of texts"),
        (file(id_normalization_mapping={"b" * 9: ""}), "too short or too long"),
        (file(id_normalization_mapping={"b" * 999: "call_1"}), "too short or too long"),
        (file(request={"payload": 1, "method": "X Y", "url": URL}), "its request has no method"),
        (file(request={"payload": 1, "method": "POST", "url": "file:///etc/passwd"}), "its URL names no host"),
        (file(request={"payload": 1, "method": "POST", "url": "http://[::1"}), "its URL cannot be read"),
        (file(request={"payload": 1, "method": "POST", "url": "http://a:99999/x"}), "its URL cannot be read"),
        (file(request={"tool_name": "shell", "provider": "x", "kwargs": {}}), "its tool is 'shell' of 'x'"),
        (file(request={"tool_name": "web_search", "provider": "tavily", "kwargs": []}), "its search has no query"),
        (file(request={"endpoint": "/generate_content", "body": {"model": "../x"}, "url": "v"}), "no name of a model"),
    ],
)
def test_a_file_that_does_not_say_enough(tmp_path: Path, content: Any, reason: str) -> None:
    assert reason in refusal(tmp_path, content)


@pytest.mark.parametrize("status", [True, 99, 600, "200", None])
def test_a_status_that_http_does_not_have(tmp_path: Path, status: Any) -> None:
    request = {"payload": {}, "method": "POST", "url": "http://0.0.0.0:11434/v1/messages"}
    assert "status" in refusal(tmp_path, file(request=request, response={"status": status, "body": {}}))


@pytest.mark.parametrize(
    "test_id",
    [
        "tests/integration/../../../etc/test_x.py::test_x", "tests/integration/..//..//x.py::t",
        "tests/integration/a\x00b/test_x.py::t", "tests/integration/a\nb/test_x.py::t",
        f"tests/integration/{'a' * 300}/test_x.py::t", f"tests/integration/{'a/' * 3000}test_x.py::t",
    ],
)  # fmt: skip
def test_a_test_whose_path_is_none(tmp_path: Path, test_id: str) -> None:
    report = bring_in(tmp_path, file(test_id=test_id))
    (refused,) = report.refused
    assert "its test's path" in refused.reason
    assert list(tmp_path.rglob("*-*.json")) == []


def test_an_absolute_path_of_a_test_goes_to_common(tmp_path: Path) -> None:
    assert bring_in(tmp_path, file(test_id="/etc/test_x.py::test_x")).refused == ()
    (path,) = (tmp_path / "out").rglob("*.json")
    assert path.parent == tmp_path / "out" / "ollama" / "common"


def test_a_key_in_an_answer_is_not_taken_over(tmp_path: Path) -> None:
    leaked = {"__type__": CHAT["__type__"], "__data__": {"id": "a", "text": "sk-" + "a1B2" * 8}}
    assert "an OpenAI or Anthropic key is in " in refusal(tmp_path, file(leaked))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.json")
    report = walk.Import(
        root=tmp_path / "in", readers=[ogx], choices=Choices(setups=known()),
        place=Place(tmp_path / "out", integration_root="tests/integration"),
    ).run(walk.sources(tmp_path / "in", [ogx]))  # fmt: skip
    assert [item.reason for item in report.refused] == ["it is no ordinary file"]


def test_a_file_past_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with (tmp_path / "in" / "b.json").open("wb") as huge:
        huge.truncate(walk.SIZE_LIMIT + 1)
    report = bring_in(tmp_path, file())
    assert [item.reason for item in report.refused] == ["it is larger than 64 MiB"]
    assert report.imported == 1
