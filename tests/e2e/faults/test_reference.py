"""The reference stack meets faults amid its committed recordings: as a library, as a server, at the edge."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

_E2E = Path(__file__).parents[1]


def _load(path: Path) -> Any:
    name = f"stackproof_faults_e2e_{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


project = _load(_E2E / "run" / "conftest.py").project
# The project's own suites and recordings, and a second stack.yaml for the same application: `server:at-edge`.
copy = _load(_E2E / "edge" / "test_edge_reference.py").copy

# The names and questions of tests that are recorded, with other expectations.
CHAT = """
import json
import openai, pytest

ASK = dict(temperature=0, max_tokens=12, stream=True)

@pytest.mark.fault("error-event:2")
def test_chunks_make_up_an_answer(openai_client, text_model):
    stream = openai_client.chat.completions.create(
        model=text_model, messages=[{"role": "user", "content": "Which animal barks?"}], **ASK
    )
    with pytest.raises(openai.APIError, match="Internal Server Error: a fault that was injected"):
        list(stream)

@pytest.mark.fault("cut:3")
def test_usage_comes_in_the_last_chunk_when_asked_for(openai_client, text_model):
    stream = openai_client.chat.completions.create(
        model=text_model, messages=[{"role": "user", "content": "Count to three."}], temperature=0, max_tokens=10,
        stream=True, stream_options={"include_usage": True},
    )
    chunks = []
    # What the connection did, the stack tells its own client as an error event.
    with pytest.raises(openai.APIError):
        for chunk in stream:
            chunks.append(chunk)
    assert len(chunks) == 3
"""
PLAIN = """
import openai, pytest

@pytest.mark.fault("status:429", times=1, retry_after=5)
def test_a_question_is_answered(openai_client, text_model):
    def ask():
        return openai_client.chat.completions.create(
            model=text_model, messages=[{"role": "user", "content": "Which planet do people live on?"}],
            temperature=0, max_tokens=16,
        )
    with pytest.raises(openai.RateLimitError):
        ask()
    assert ask().choices[0].message.content
"""
RESPONSES = """
import json
import openai, pytest

@pytest.mark.fault("error-event:3", path="/responses")
def test_a_streamed_response_has_its_events_in_order(openai_client, text_model):
    stream = openai_client.responses.create(
        model=text_model, input="Which gas do plants need?", temperature=0, max_output_tokens=16, stream=True
    )
    *_, last = stream
    assert (last.type, last.code, last.sequence_number) == ("error", "server_error", 2)
"""
MESSAGES = """
import anthropic, json, pytest

@pytest.mark.fault("error-event:3", path="*/messages")
def test_a_streamed_message_has_its_events_in_order(anthropic_client, text_model):
    stream = anthropic_client.messages.create(
        model=text_model, messages=[{"role": "user", "content": "Name a vegetable."}], extra_body={"temperature": 0},
        max_tokens=10, stream=True,
    )
    types = []
    with pytest.raises(anthropic.APIStatusError, match="Overloaded: a fault that was injected"):
        for event in stream:
            types.append(event.type)
    assert types == ["message_start", "content_block_start"]

@pytest.mark.fault("damage:3")
def test_event_names_stand_on_the_wire(http_client, text_model):
    body = {"model": text_model, "messages": [{"role": "user", "content": "Name a stone."}], "temperature": 0,
            "max_tokens": 4, "stream": True}
    with http_client.stream("POST", "/v1/messages", json=body) as response:
        data = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    json.loads(data[1]), json.loads(data[3])
    with pytest.raises(ValueError):
        json.loads(data[2])
"""
OLLAMA = """
import json
import pytest

def lines_of(client, path, **body):
    with client.stream("POST", path, json=body) as response:
        return [json.loads(line) for line in response.iter_lines()]

@pytest.mark.fault("error-event:2")
def test_a_chat_is_streamed_line_by_line(http_client, native_model):
    messages = [{"role": "user", "content": "Name a long river."}]
    first, second = lines_of(http_client, "/api/chat", model=native_model, messages=messages)
    assert first["message"]["content"]
    assert "a fault that was injected" in str(second["error"])
"""
FILES = {
    "test_chat_stream.py": CHAT,
    "test_chat.py": PLAIN,
    "test_responses.py": RESPONSES,
    "test_messages.py": MESSAGES,
}


@pytest.mark.parametrize("stack", ["library:reference", "server:reference", "server:at-edge"])
def test_the_same_faults_in_every_dialect_on_each_kind_of_stack(copy: Project, stack: str) -> None:
    base = copy.root / "tests" / "integration" / "base"
    for path in base.glob("test_*.py"):
        path.unlink()
    for name, text in FILES.items():
        (base / name).write_text(text)
    done = copy.run("--suite", "base", "--setup", "ollama", "--stack-config", stack, "--strict")
    assert done.code == 0, done.output
    assert "0 missed, 0 unused, 6 faults injected" in done.output
    calls = [json.loads(line) for line in (copy.cell_dir() / "calls.jsonl").read_text().splitlines()]
    injected = [call for call in calls if call["kind"] == "injected"]
    assert sorted(call["fault"] for call in injected) == [
        "cut:3",
        "damage:3",
        "error-event:2",
        "error-event:3,path=*/messages",
        "error-event:3,path=/responses",
        "status:429,times=1,retry-after=5",
    ]


def test_ollamas_lines_have_an_error_of_their_own(copy: Project) -> None:
    root = Path(__file__).parents[3]
    folder = copy.root / "tests" / "integration" / "ollama_native"
    (folder / "test_ollama_native.py").write_text(OLLAMA)
    recordings = root / "recordings" / "echo"
    for path in recordings.rglob("*.json"):
        target = copy.root / "recordings" / "echo" / path.relative_to(recordings)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    done = copy.run("--suite", "ollama_native", "--setup", "echo", "--stack-config", "library:reference")
    assert done.code == 0, done.output
    assert "1 fault injected" in done.output
