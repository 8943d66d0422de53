"""The provider service `llama-cpp` as a run starts it: real llama.cpp, real answers.

Runs when its environment and models are in the cache already, or when STACKPROOF_REQUIRE names llama-cpp; then it
must run, and fetches what is missing.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from stackproof.catalog.records import ServiceSpec
from stackproof.stack import service as services

TEXT, TOOLS = "smollm2:135m", "stackproof-scripted-tools"
SENTENCE = "This sentence is scripted, token by token."
QUESTION = [{"role": "user", "content": "Name a colour."}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def events(self) -> list[Any]:
        """The data of a server-sent event stream, without its end mark."""
        data = [line[6:] for line in self.text.split("\n") if line.startswith("data: ")]
        return [json.loads(one) for one in data if one != "[DONE]"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    running: services.RunningService

    def connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.running.url)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)

    def ask(self, path: str, body: object = None, **headers: str) -> Answer:
        connection = self.connect()
        with contextlib.closing(connection):
            raw = None if body is None else json.dumps(body)
            connection.request("GET" if raw is None else "POST", f"/v1{path}", raw, headers)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(status=answer.status, headers=names, text=answer.read().decode())


@contextlib.contextmanager
def started(spec: ServiceSpec, folder: Path, **variables: str) -> Iterator[Provider]:
    with services.run(
        spec,
        environment={**os.environ, **variables},
        cell_dir=folder,
        run_id="e2e000",
        say=print,
        check=lambda: None,
    ) as running:
        yield Provider(running=running)


@pytest.fixture(scope="module")
def provider(llama_cpp: ServiceSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with started(llama_cpp, tmp_path_factory.mktemp("llama-cpp")) as provider:
        yield provider


def chat(provider: Provider, **more: object) -> Answer:
    return provider.ask("/chat/completions", {"model": TEXT, "messages": QUESTION, "max_tokens": 12, **more})


def said(answer: Answer) -> str:
    assert answer.status == 200, answer.text
    return str(answer.json["choices"][0]["message"]["content"])


def vectors(provider: Provider, *texts: str) -> list[list[float]]:
    answer = provider.ask("/embeddings", {"model": TEXT, "input": list(texts)})
    assert answer.status == 200, answer.text
    return [one["embedding"] for one in answer.json["data"]]


def test_clients_see_aliases_and_never_a_file(provider: Provider) -> None:
    answer = provider.ask("/models")
    assert [model["id"] for model in answer.json["data"]] == [TEXT, TOOLS]
    assert ".gguf" not in answer.text
    assert chat(provider).json["model"] == TEXT
    assert chat(provider).headers["server"] == "llama.cpp"


def test_text_and_embeddings_come_from_one_server_and_do_not_disturb_each_other(provider: Provider) -> None:
    text, vector = said(chat(provider)), vectors(provider, "a cat sat on the mat")
    assert text
    assert vectors(provider, "a cat sat on the mat") == vector
    assert said(chat(provider)) == text


def test_embeddings_have_576_dimensions_length_one_and_some_meaning(provider: Provider) -> None:
    cat, feline, stocks = vectors(
        provider, "The cat sat on the mat", "A feline rested on a rug", "Stock prices fell sharply today"
    )
    assert len(cat) == 576
    assert sum(value**2 for value in cat) == pytest.approx(1, abs=1e-4)

    def likeness(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert likeness(cat, feline) > likeness(cat, stocks) + 0.05


def test_stream_says_what_the_whole_answer_says(provider: Provider) -> None:
    answer = chat(provider, stream=True, stream_options={"include_usage": True})
    assert answer.headers["transfer-encoding"] == "chunked"
    deltas = [event["choices"][0]["delta"].get("content") or "" for event in answer.events if event["choices"]]
    assert "".join(deltas) == said(chat(provider))
    assert answer.events[-1]["usage"]["completion_tokens"] == 12
    assert answer.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("temperature", [0, 1])
def test_scripted_model_calls_a_tool_that_is_offered(provider: Provider, choice: str, temperature: int) -> None:
    answer = chat(
        provider, model=TOOLS, max_tokens=50, tools=[WEATHER], tool_choice=choice, temperature=temperature
    ).json["choices"][0]
    assert answer["finish_reason"] == "tool_calls"
    assert answer["message"]["tool_calls"][0]["function"] == CALLED["function"]


def test_scripted_model_streams_a_tool_call_in_pieces(provider: Provider) -> None:
    events = chat(provider, model=TOOLS, max_tokens=50, tools=[WEATHER], stream=True).events
    calls = [call for event in events for call in event["choices"][0]["delta"].get("tool_calls", [])]
    assert calls[0]["function"]["name"] == "get_weather"
    assert len(calls) > 2
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"city": "Paris"}


@pytest.mark.parametrize(
    ("messages", "tools"),
    [
        (QUESTION, []),
        (QUESTION, [{"type": "function", "function": {"name": "other", "parameters": PARAMETERS}}]),
        (
            [
                *QUESTION,
                {"role": "assistant", "content": None, "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
            ],
            [WEATHER],
        ),
    ],
    ids=["no tool", "another tool", "after the result"],
)
def test_scripted_model_otherwise_says_its_sentence(
    provider: Provider, messages: list[object], tools: list[object]
) -> None:
    more = {"tools": tools} if tools else {}
    assert said(chat(provider, model=TOOLS, max_tokens=50, messages=messages, **more)) == SENTENCE


def test_scripted_model_calls_its_tool_through_responses(provider: Provider) -> None:
    tool = {"type": "function", "name": "get_weather", "parameters": PARAMETERS}
    called = provider.ask("/responses", {"model": TOOLS, "input": "Weather?", "tools": [tool]}).json["output"][0]
    assert (called["type"], called["name"], called["arguments"]) == (
        "function_call",
        "get_weather",
        '{"city": "Paris"}',
    )
    result = {"type": "function_call_output", "call_id": called["call_id"], "output": "sunny"}
    told = [{"role": "user", "content": "Weather?"}, called, result]
    last = provider.ask("/responses", {"model": TOOLS, "input": told, "tools": [tool]}).json["output"][0]
    assert last["content"][0]["text"] == SENTENCE


def test_scripted_model_calls_its_tool_through_messages(provider: Provider) -> None:
    asked = {"model": TOOLS, "max_tokens": 50, "tools": [{"name": "get_weather", "input_schema": PARAMETERS}]}
    first = provider.ask("/messages", {**asked, "messages": QUESTION}).json
    assert first["stop_reason"] == "tool_use"
    assert first["content"][0]["input"] == {"city": "Paris"}
    result = {"type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "sunny"}
    told = [*QUESTION, {"role": "assistant", "content": first["content"]}, {"role": "user", "content": [result]}]
    assert provider.ask("/messages", {**asked, "messages": told}).json["content"][0]["text"] == SENTENCE


def test_unknown_model_is_refused_by_the_front(provider: Provider) -> None:
    answer = chat(provider, model="nobody")
    assert answer.status == 404
    assert answer.headers["server"] == "stackproof-llama-cpp-front"


def test_prompt_that_is_too_long_is_refused_by_llama_cpp(provider: Provider) -> None:
    answer = chat(provider, messages=[{"role": "user", "content": "word " * 3000}])
    assert answer.status == 400
    assert answer.json["error"]["type"] == "exceed_context_size_error"
    assert answer.headers["server"] == "llama.cpp"


def test_caller_who_leaves_a_stream_does_not_keep_the_slot_busy(provider: Provider) -> None:
    # A slot that stays busy takes the next answer's time again, each time; a machine that is busy does not.
    assert any(_next_takes(provider) < 1.7 for _ in range(5))


def _next_takes(provider: Provider) -> float:
    """Leave a stream and ask again: how many times longer that takes than the server says that it did."""
    connection = provider.connect()
    with contextlib.closing(connection):
        long = {"model": TEXT, "messages": QUESTION, "max_tokens": 256, "stream": True, "ignore_eos": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(long))
        with contextlib.closing(connection.getresponse()) as stream:
            stream.read(10)
    left = time.monotonic()
    whole = chat(provider, max_tokens=256, ignore_eos=True)
    took = (time.monotonic() - left) * 1000
    return float(took / (whole.json["timings"]["prompt_ms"] + whole.json["timings"]["predicted_ms"]))


def test_answers_are_the_same_after_a_restart_and_a_wrong_key_is_refused(
    llama_cpp: ServiceSpec, provider: Provider, tmp_path: Path
) -> None:
    text, vector = said(chat(provider)), vectors(provider, "one")
    with started(llama_cpp, tmp_path, LLAMA_API_KEY="right-key-for-a-test") as locked:
        for model in (TEXT, TOOLS, "nobody"):
            body = {"model": model, "messages": QUESTION, "max_tokens": 2}
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                answer = locked.ask("/chat/completions", body, **headers)
                assert answer.status == 401
                assert answer.headers["server"] == "llama.cpp"
        key = {"Authorization": "Bearer right-key-for-a-test"}
        body = {"model": TEXT, "messages": QUESTION, "max_tokens": 12}
        assert said(locked.ask("/chat/completions", body, **key)) == text
        one = locked.ask("/embeddings", {"model": TEXT, "input": ["one"]}, **key)
        assert [each["embedding"] for each in one.json["data"]] == vector
    assert "right-key" not in locked.running.log.read_text(encoding="utf-8", errors="replace")


def test_service_ends_within_two_seconds_of_work_and_leaves_no_process(llama_cpp: ServiceSpec, tmp_path: Path) -> None:
    # One that waits for its work, or until it is killed, takes longer each time; a machine that is busy does not.
    assert any(_end_takes(llama_cpp, tmp_path / str(number)) < 2 for number in range(5))


def _end_takes(llama_cpp: ServiceSpec, folder: Path) -> float:
    """Start it, have it answer without end, and end it: the seconds of its end, after which nothing of it is left."""
    folder.mkdir()
    with started(llama_cpp, folder) as provider:
        group = provider.running.pid
        assert group is not None
        assert len(processes(group)) >= 3  # it and its two servers
        connection = provider.connect()
        endless = {"model": TEXT, "messages": QUESTION, "stream": True, "ignore_eos": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(endless))
        stream = connection.getresponse()
        stopped = time.monotonic()
    took = time.monotonic() - stopped
    assert processes(group) == []
    with (
        contextlib.closing(connection),
        contextlib.closing(stream),
        pytest.raises((OSError, http.client.HTTPException)),
    ):
        stream.read()
    assert "Traceback" not in provider.running.log.read_text(encoding="utf-8", errors="replace")
    return took


def processes(group: int) -> list[int]:
    """Ids of the living processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[2]) == group and after_name[0] != "Z":
                found.append(int(entry.name))
    return found
