"""Ids that OGX counted out to a test become those that a run of ours gives to the same things."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.records import SetupSpec
from stackproof.recorder import ids
from stackproof.recorder.ledger import Ledger
from stackproof.recorder.scope import Scope
from stackproof.recordings.importing import ogx, ogx_ids
from stackproof.recordings.importing.imported import Choices, Imported, Source

TEST = "tests/integration/a/test_a.py::test_a[x]"
FIRST = int(sha256(TEST.encode()).hexdigest(), 16) % 10**12
OWNER = Scope(name="tests/base/test_a.py::test_a[x]", test_id="tests/base/test_a.py::test_a[x]")


@pytest.mark.parametrize(
    ("kind", "prefix", "made"),
    [
        ("file", "file-", lambda: "file-0123456789abcdef0123456789abcdef"),
        ("vector_store", "vs_", lambda: "vs_3f0c2a9e-7d41-4f5e-9a0b-0123456789ab"),
        ("vector_store_file_batch", "batch_", lambda: "batch_3f0c2a9e-7d41-4f5e-9a0b-0123456789ab"),
        ("tool_call", "call_", lambda: "call_3f0c2a9e-7d41-4f5e-9a0b-0123456789ab"),
    ],
)
def test_the_nth_of_a_kind_is_the_nth_that_a_run_makes(tmp_path: Path, kind: str, prefix: str, made: Any) -> None:
    ledger = Ledger(str(tmp_path))
    ours = [ids.new_id(ledger, OWNER, kind, made) for _ in range(2)]
    ledger.close()
    text = f"cite as <|{prefix}{FIRST + 2}|> and {prefix}{FIRST + 1}."
    assert ogx_ids.translation(TEST, OWNER)(text) == f"cite as <|{ours[1]}|> and {ours[0]}."


@pytest.mark.parametrize(
    "text",
    [
        f"file-{FIRST}",
        f"file-{FIRST + 10_001}",
        f"profile-{FIRST + 1}",
        f"file-{FIRST + 1}0",
        f"file-{FIRST + 1}-x",
        f"file-0{FIRST + 1}",
        f"vs-{FIRST + 1}",
        f"{FIRST + 1}",
        "file-9d1f6a",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert ogx_ids.translation(TEST, OWNER)(text) == text


def test_request_and_answer_of_a_file_are_translated(tmp_path: Path) -> None:
    said = f"it is in file-{FIRST + 1}"
    content = {
        "test_id": TEST,
        "request": {
            "method": "POST",
            "url": "https://api.openai.com/v1/v1/chat/completions",
            "endpoint": "/v1/chat/completions",
            "body": {"model": "m", "messages": [{"role": "user", "content": said}]},
        },
        "response": {
            "is_streaming": False,
            "body": {
                "__type__": "openai.types.chat.chat_completion.ChatCompletion",
                "__data__": {"id": "a", "choices": [{"message": {"content": said}}]},
            },
        },
    }
    setup = SetupSpec(name="gpt", description="d", source=tmp_path)
    choices = Choices(setups={"gpt": setup}, setup=setup, renames=(("tests/integration/a", "tests/base"),))
    (call,) = ogx.read(Source(name="a.json", raw=json.dumps(content).encode()), choices)
    assert isinstance(call, Imported)
    ours = ids.numbered(OWNER, "file", 1, ("file-0123456789abcdef0123456789abcdef",))
    assert call.scope == OWNER
    assert json.loads(call.body)["messages"][0]["content"] == f"it is in {ours}"
    assert json.loads(call.answer.body)["choices"][0]["message"]["content"] == f"it is in {ours}"
