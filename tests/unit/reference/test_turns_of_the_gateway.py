"""Responses with tools: what the gateway asks the provider step by step, what its caller gets, and what is left."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai.types.responses import Response as OpenAIResponse
from openai.types.responses import ResponseCompletedEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stackproof.stack.inprocess import InProcessApp

Gateway = Callable[..., httpx2.Client]
Step = list[dict[str, Any]] | Response

ENVIRON = {"OLLAMA_URL": "http://ollama.invalid/v1", "REFERENCE_EMBEDDING_MODEL": "ollama/e"}
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}
WEATHER = {"type": "mcp", "server_label": "weather", "require_approval": "never"}
USAGE = {
    "input_tokens": 2,
    "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
    "output_tokens": 1,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 3,
}


def message(text: str = "Hello.") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_p", "status": "completed", "role": "assistant", "content": [part]}


def call(name: str = "f", arguments: str = "{}", call_id: str = "call_1") -> dict[str, Any]:
    told = {"call_id": call_id, "name": name, "arguments": arguments}
    return {"type": "function_call", "id": f"fc_{call_id}", "status": "completed", **told}


def event(told: dict[str, Any]) -> bytes:
    return f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode()


class Provider:
    """Answers step by step with the items of a script, plain or streamed as it is asked to; the last step repeats.

    last: the event (or the status) that ends an answer. stall: it sends one more delta and then nothing.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = [[message()]]
        self.last = "completed"
        self.stall = False
        self.asked: list[dict[str, Any]] = []
        self.left = threading.Event()
        self.app = Starlette(routes=[Route("/v1/responses", self.answer, methods=["POST"])])

    async def answer(self, request: Request) -> Response:
        self.asked.append(await request.json())
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Response):
            return step
        if self.asked[-1].get("stream"):
            return StreamingResponse(self.events(step), media_type="text/event-stream")
        if self.stall:
            try:
                await asyncio.sleep(60)
            finally:
                self.left.set()
        return JSONResponse(self.response(step))

    async def events(self, items: list[dict[str, Any]]) -> AsyncIterator[bytes]:
        yield event({"type": "response.created", "response": {"id": "resp_p"}})
        for item in items:
            for part in item.get("content", []):
                for piece in (part["text"][:3], part["text"][3:]):
                    yield event({"type": "response.output_text.delta", "delta": piece})
            if self.stall:
                try:
                    await asyncio.sleep(60)
                finally:
                    self.left.set()
            yield event({"type": "response.output_item.done", "item": item})
        if self.last != "nothing":
            yield event({"type": f"response.{self.last}", "response": self.response(items)})

    def response(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        details = {"reason": "max_output_tokens"} if self.last == "incomplete" else None
        error = {"code": "server_error", "message": "out of memory"} if self.last == "failed" else None
        told = {"id": "resp_p", "object": "response", "status": self.last, "error": error}
        return {**told, "incomplete_details": details, "output": items, "usage": USAGE}


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def start(provider: Provider, gateway: Gateway) -> Iterator[Callable[..., httpx2.Client]]:
    with ExitStack() as stack:
        running = stack.enter_context(InProcessApp(provider.app, close_grace=1.0))

        def started(**environ: str) -> httpx2.Client:
            return gateway(running.async_transport(), {**ENVIRON, **environ})

        yield started


@pytest.fixture
def client(start: Callable[..., httpx2.Client]) -> httpx2.Client:
    return start()


def ask(client: httpx2.Client, *tools: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    response = client.post("/v1/responses", json={"model": "ollama/m", "input": "Hi.", "tools": list(tools), **more})
    assert response.status_code == 200, response.text
    return dict(response.json())


def told(client: httpx2.Client, *tools: Mapping[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The events of a streamed answer."""
    body = {"model": "ollama/m", "input": "Hi.", "tools": list(tools), "stream": True, **more}
    response = client.post("/v1/responses", json=body)
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    blocks = response.text.split("\n\n")[:-1]
    events = [json.loads(block.partition("data: ")[2]) for block in blocks]
    assert [f"event: {one['type']}" for one in events] == [block.partition("\n")[0] for block in blocks]
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    ends = {"response.completed", "response.failed", "response.incomplete"}
    assert [one["type"] in ends for one in events] == [False] * (len(events) - 1) + [True]
    return events


def types(events: list[dict[str, Any]]) -> list[str]:
    return [one["type"].removeprefix("response.") for one in events]


def rollout(folder: Path) -> list[dict[str, Any]]:
    """The one rollout of the folder, as soon as its turn has ended."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        for path in folder.glob("*.jsonl"):
            records = [json.loads(line) for line in path.read_text().splitlines()]
            if records and records[-1].get("event", "turn_started") != "turn_started":
                return records
        time.sleep(0.02)
    raise AssertionError(f"no turn has ended in {folder}")


def test_a_function_is_the_callers(client: httpx2.Client, provider: Provider) -> None:
    provider.steps = [[call(arguments='{"a": 1}')]]
    response = ask(client, FUNCTION, temperature=0, tool_choice="auto")
    assert provider.asked == [
        {
            "model": "m",
            "input": [{"role": "user", "content": "Hi."}],
            "tools": [FUNCTION],
            "temperature": 0,
            "tool_choice": "auto",
            "store": False,
        }
    ]
    assert response["output"] == [call(arguments='{"a": 1}')]
    assert (response["status"], response["usage"], response["model"]) == ("completed", USAGE, "ollama/m")
    assert response["id"].startswith("resp_")
    assert response["tools"] == [FUNCTION]
    OpenAIResponse.model_validate(response)


def test_what_the_provider_wants_to_read_again_it_gets(client: httpx2.Client, provider: Provider) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    provider.steps = [[thought, call()], [message()]]
    first = ask(client, FUNCTION, store=True)
    assert first["output"] == [thought, call()]
    result = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
    second = ask(client, FUNCTION, input=[result], previous_response_id=first["id"], store=True)
    assert provider.asked[1]["input"] == [{"role": "user", "content": "Hi."}, thought, call(), result]
    assert "previous_response_id" not in provider.asked[1]
    assert client.get(f"/v1/responses/{second['id']}").json() == second


def test_a_hosted_call_is_run_and_read_by_the_model(client: httpx2.Client, provider: Provider) -> None:
    provider.steps = [[call("get_weather", '{"city": "Riga"}')], [message("It rains.")]]
    response = ask(client, WEATHER, instructions="Be kind.")
    first, second = provider.asked
    assert [tool["name"] for tool in first["tools"]] == ["get_weather"]
    assert first["tools"][0]["type"] == "function"
    assert second["tools"] == first["tools"]
    assert second["input"] == [
        *first["input"],
        call("get_weather", '{"city": "Riga"}'),
        {"type": "function_call_output", "call_id": "call_1", "output": "rain, 9 °C"},
    ]
    assert second["instructions"] == "Be kind."
    hosted, spoken = response["output"]
    assert (hosted["type"], hosted["server_label"], hosted["status"]) == ("mcp_call", "weather", "completed")
    assert (hosted["output"], hosted["error"]) == ("rain, 9 °C", None)
    assert spoken["content"] == message("It rains.")["content"]
    usage = response["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (4, 2, 6)
    assert usage["input_tokens_details"]["cached_tokens"] == 2
    OpenAIResponse.model_validate(response)


def test_a_streamed_turn_is_told_step_by_step(client: httpx2.Client, provider: Provider) -> None:
    provider.steps = [[message("I look."), call("get_weather", '{"city": "Riga"}')], [message("It rains.")]]
    events = told(client, WEATHER)
    spoken = ["output_item.added", "content_part.added", "output_text.delta", "output_text.delta"]
    ended = ["output_text.done", "content_part.done", "output_item.done"]
    assert types(events) == [
        "created",
        "in_progress",
        *spoken,
        *ended,
        "output_item.added",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
        "output_item.done",
        *spoken,
        *ended,
        "completed",
    ]
    response = events[-1]["response"]
    done = {one["output_index"]: one["item"] for one in events if one["type"] == "response.output_item.done"}
    assert [done[index] for index in range(3)] == response["output"]
    assert events[0]["response"]["id"] == response["id"]


def test_two_messages_of_one_answer_do_not_mix(client: httpx2.Client, provider: Provider) -> None:
    provider.steps = [[message("First."), message("Second.")]]
    events = told(client, FUNCTION)
    texts: dict[int, str] = {}
    for one in events:
        if one["type"] == "response.output_text.delta":
            texts[one["output_index"]] = texts.get(one["output_index"], "") + one["delta"]
    assert texts == {0: "First.", 1: "Second."}
    shown = [item["content"][0]["text"] for item in events[-1]["response"]["output"]]
    assert shown == ["First.", "Second."]
    assert len({item["id"] for item in events[-1]["response"]["output"]}) == 2


def test_the_sdk_reads_a_streamed_call(start: Callable[..., httpx2.Client], provider: Provider) -> None:
    provider.steps = [[call(arguments='{"a": 1}')]]
    client = start()
    sdk = openai.OpenAI(base_url="http://stack.invalid/v1", api_key="none", http_client=client)
    seen: list[Any] = list(sdk.responses.create(model="ollama/m", input="Hi.", tools=[FUNCTION], stream=True))  # type: ignore[list-item]
    last = seen[-1]
    assert isinstance(last, ResponseCompletedEvent)
    assert [item.type for item in last.response.output] == ["function_call"]


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        (call("nothing"), "no tool 'nothing'"),
        (call("get_weather", "[]"), "no JSON object"),
        (call("get_weather", '{"city": "Rome"}'), "nothing is known of 'Rome'"),
    ],
)
def test_a_call_that_fails_goes_back_to_the_model(
    client: httpx2.Client, provider: Provider, wanted: dict[str, Any], word: str
) -> None:
    provider.steps = [[wanted], [message()]]
    response = ask(client, WEATHER)
    assert response["status"] == "completed"
    assert word in provider.asked[1]["input"][-1]["output"]
    failed = [item for item in response["output"] if item["type"] == "mcp_call"]
    assert [item["status"] for item in failed] == ["failed"] * (wanted["name"] == "get_weather")
    OpenAIResponse.model_validate(response)


def test_a_model_that_never_ends_is_ended(client: httpx2.Client, provider: Provider) -> None:
    provider.steps = [[call("get_weather", '{"city": "Riga"}')]]
    response = ask(client, WEATHER, store=True)
    assert (response["status"], len(provider.asked)) == ("failed", 8)
    assert "after 8 answers" in response["error"]["message"]
    assert len(response["output"]) == 8
    assert client.get(f"/v1/responses/{response['id']}").status_code == 404


@pytest.mark.parametrize("stream", [False, True])
def test_a_status_of_the_provider_is_passed_on(client: httpx2.Client, provider: Provider, stream: bool) -> None:
    content = {"error": {"message": "slow down"}}
    provider.steps = [JSONResponse(content, status_code=429, headers={"retry-after": "7"})]
    body = {"model": "ollama/m", "input": "Hi.", "tools": [FUNCTION], "stream": stream}
    response = client.post("/v1/responses", json=body)
    assert (response.status_code, response.json()) == (429, content)
    assert response.headers["retry-after"] == "7"
    assert len(provider.asked) == 1


def test_a_provider_that_is_not_there_is_a_bad_gateway(gateway: Gateway) -> None:
    def nobody(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused")

    for stream in (False, True):
        body = {"model": "ollama/m", "input": "Hi.", "tools": [FUNCTION], "stream": stream}
        response = gateway(nobody, ENVIRON).post("/v1/responses", json=body)
        assert response.status_code == 502
        assert "'ollama' gave no answer" in response.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_none_is_a_bad_gateway(client: httpx2.Client, provider: Provider, stream: bool) -> None:
    provider.steps = [Response(b"<html>", media_type="text/html")]
    body = {"model": "ollama/m", "input": "Hi.", "tools": [FUNCTION], "stream": stream, "store": True}
    response = client.post("/v1/responses", json=body)
    assert response.status_code == 502
    assert "The model's answer" in response.json()["error"]["message"]


def test_a_stream_that_breaks_fails_and_leaves_nothing(client: httpx2.Client, provider: Provider) -> None:
    provider.last = "nothing"
    events = told(client, FUNCTION, store=True)
    assert types(events)[-2:] == ["output_text.delta", "failed"]
    response = events[-1]["response"]
    assert (response["status"], response["output"]) == ("failed", [])
    assert "before an event said that it is whole" in response["error"]["message"]
    assert client.get(f"/v1/responses/{response['id']}").status_code == 404


def test_a_status_in_the_middle_of_a_turn_fails_what_is_told_already(client: httpx2.Client, provider: Provider) -> None:
    provider.steps = [[call("get_weather", '{"city": "Riga"}')], JSONResponse({"error": {"message": "no"}}, 503)]
    events = told(client, WEATHER)
    assert types(events)[-3:] == ["mcp_call.completed", "output_item.done", "failed"]
    response = events[-1]["response"]
    assert [item["type"] for item in response["output"]] == ["mcp_call"]
    assert "status 503: no" in response["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_provider_says_of_its_failure_is_the_callers_too(
    client: httpx2.Client, provider: Provider, stream: bool
) -> None:
    provider.last = "failed"
    response = told(client, FUNCTION)[-1]["response"] if stream else ask(client, FUNCTION)
    assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
    assert "out of memory" in response["error"]["message"]
    OpenAIResponse.model_validate(response)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_was_cut_is_incomplete_and_not_stored(
    client: httpx2.Client, provider: Provider, stream: bool
) -> None:
    provider.last = "incomplete"
    response = told(client, FUNCTION, store=True)[-1]["response"] if stream else ask(client, FUNCTION, store=True)
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    (cut,) = response["output"]
    assert (cut["status"], cut["content"][0]["text"]) == ("incomplete", "Hello.")
    assert client.get(f"/v1/responses/{response['id']}").status_code == 404
    OpenAIResponse.model_validate(response)


def test_a_caller_who_leaves_a_stream_cancels_the_turn(
    start: Callable[..., httpx2.Client], provider: Provider, tmp_path: Path
) -> None:
    provider.stall = True
    client = start(REFERENCE_ROLLOUTS=str(tmp_path))
    body = {"model": "ollama/m", "input": "Hi.", "tools": [FUNCTION], "stream": True, "store": True}
    with client.stream("POST", "/v1/responses", json=body) as response:
        lines = response.iter_lines()
        assert any("output_text.delta" in line for line in lines)
        assert not provider.left.is_set()
    assert provider.left.wait(5)
    records = rollout(tmp_path)
    assert [record.get("event") for record in records[1:]] == ["turn_started", None, "turn_aborted"]
    assert records[-1]["reason"] == "The caller left."
    (path,) = tmp_path.glob("*.jsonl")
    assert client.get(f"/v1/responses/{path.stem}").status_code == 404


def test_a_caller_who_leaves_before_the_answer_cancels_the_turn(
    start: Callable[..., httpx2.Client], provider: Provider, tmp_path: Path
) -> None:
    provider.stall = True
    client = start(REFERENCE_ROLLOUTS=str(tmp_path))
    body = {"model": "ollama/m", "input": "Hi.", "tools": [FUNCTION]}
    with pytest.raises(httpx2.ReadTimeout):
        client.post("/v1/responses", json=body, timeout=0.5)
    assert provider.left.wait(5)
    assert rollout(tmp_path)[-1]["event"] == "turn_aborted"


def test_a_caller_who_leaves_ends_the_program_that_runs_for_him(
    start: Callable[..., httpx2.Client], provider: Provider, tmp_path: Path
) -> None:
    tools = tmp_path / "tools.json"
    alive = tmp_path / "alive"
    command = ["sh", "-c", f"echo $$ > {alive}; sleep 60"]
    tool = {"description": "", "parameters": {}, "run": {"command": command, "seconds": 60}}
    tools.write_text(json.dumps({"slow": {"wait": tool}}))
    provider.steps = [[call("wait")]]
    client = start(REFERENCE_HOSTED_TOOLS=str(tools), REFERENCE_ROLLOUTS=str(tmp_path / "rollouts"))
    slow = {"type": "mcp", "server_label": "slow", "require_approval": "never"}
    body = {"model": "ollama/m", "input": "Hi.", "tools": [slow], "stream": True}
    with client.stream("POST", "/v1/responses", json=body) as response:
        assert any("mcp_call_arguments.done" in line for line in response.iter_lines())
        deadline = time.monotonic() + 5
        while not (alive.exists() and alive.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
    records = rollout(tmp_path / "rollouts")
    assert records[-1]["event"] == "turn_aborted"
    assert records[-2]["item"] == {"type": "function_call_output", "call_id": "call_1", "output": "aborted"}
    assert not Path(f"/proc/{alive.read_text().strip()}").exists()
    assert len(provider.asked) == 1


def test_a_turn_is_written_down(start: Callable[..., httpx2.Client], provider: Provider, tmp_path: Path) -> None:
    provider.steps = [[call("get_weather", '{"city": "Riga"}')], [message()]]
    response = ask(start(REFERENCE_ROLLOUTS=str(tmp_path / "new" / "folder")), WEATHER)
    records = rollout(tmp_path / "new" / "folder")
    kinds = [record.get("event") or record.get("item", {}).get("type", "message") for record in records[1:]]
    assert kinds == ["turn_started", "message", "function_call", "function_call_output", "message", "turn_completed"]
    assert [path.stem for path in (tmp_path / "new" / "folder").iterdir()] == [response["id"]]


@pytest.mark.parametrize("stream", [False, True])
def test_a_turn_that_cannot_be_written_down_is_refused(
    start: Callable[..., httpx2.Client], provider: Provider, tmp_path: Path, stream: bool
) -> None:
    (tmp_path / "file").write_text("")
    client = start(REFERENCE_ROLLOUTS=str(tmp_path / "file"))
    body = {"model": "ollama/m", "input": "Hi.", "tools": [FUNCTION], "stream": stream}
    response = client.post("/v1/responses", json=body)
    assert response.status_code == 500
    assert "rollout" in response.json()["error"]["message"]
    assert not provider.asked


def test_programs_are_given_no_key(start: Callable[..., httpx2.Client], provider: Provider, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tool = {"description": "", "parameters": {}, "run": {"command": ["env"], "seconds": 10}}
    tools.write_text(json.dumps({"s": {"show": {**tool, "run": {"command": ["sh", "-c", "env"], "seconds": 10}}}}))
    provider.steps = [[call("show")], [message()]]
    client = start(REFERENCE_HOSTED_TOOLS=str(tools), OPENAI_API_KEY="a-secret-of-the-stack")
    output = ask(client, {**WEATHER, "server_label": "s"})["output"][0]["output"]
    assert "PATH=" in output
    assert "a-secret-of-the-stack" not in output


def test_a_hosted_call_that_its_caller_sends_back_is_a_call_and_its_result(
    client: httpx2.Client, provider: Provider
) -> None:
    hosted = {"type": "mcp_call", "id": "mcp_1", "name": "get_weather", "arguments": "{}", "server_label": "weather"}
    ask(client, WEATHER, input=[{**hosted, "output": "rain"}, {**hosted, "id": "mcp_2", "error": {"type": "x"}}])
    assert provider.asked[0]["input"] == [
        {"type": "function_call", "call_id": "mcp_1", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "mcp_1", "output": "rain"},
        {"type": "function_call", "call_id": "mcp_2", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "mcp_2", "output": '{"type": "x"}'},
    ]


def test_a_call_without_a_result_is_aborted_for_the_prompt(client: httpx2.Client, provider: Provider) -> None:
    ask(client, FUNCTION, input=[call(), {"role": "user", "content": "Never mind."}])
    assert provider.asked[0]["input"][1] == {"type": "function_call_output", "call_id": "call_1", "output": "aborted"}


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (
            {"type": "mcp", "server_label": "weather", "name": "get_weather"},
            {"type": "function", "name": "get_weather"},
        ),
        ({"type": "mcp", "server_label": "weather"}, "required"),
        ("auto", "auto"),
    ],
)
def test_a_hosted_tool_can_be_asked_for(client: httpx2.Client, provider: Provider, choice: Any, sent: Any) -> None:
    ask(client, WEATHER, tool_choice=choice)
    assert provider.asked[0]["tool_choice"] == sent


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "mcp", "server_label": "elsewhere", "server_url": "https://mcp.invalid"}],
        [{"type": "code_interpreter"}, FUNCTION],
        [{"type": "function"}],
    ],
)
def test_tools_of_the_provider_are_passed_on_as_they_are(
    client: httpx2.Client, provider: Provider, tools: list[dict[str, Any]]
) -> None:
    response = ask(client, *tools)
    assert response["id"] == "resp_p"
    assert provider.asked == [{"model": "m", "input": "Hi.", "tools": tools}]


@pytest.mark.parametrize(
    ("tools", "word"),
    [
        ([{**WEATHER, "server_label": "none"}], "weather"),
        ([{**WEATHER, "require_approval": "always"}], "require_approval"),
        ([{"type": "mcp", "server_label": "weather"}], "require_approval"),
        ([{**WEATHER, "allowed_tools": ["x"]}], "no tool 'x'"),
        ([{**WEATHER, "allowed_tools": {"read_only": True}}], "tool_names"),
        ([{**WEATHER, "allowed_tools": "get_weather"}], "get_weather"),
        ([WEATHER, {**FUNCTION, "name": "get_weather"}], "both called 'get_weather'"),
        ([WEATHER, {**WEATHER, "server_label": "station"}], "called 'get_weather'"),
        ([WEATHER, {"type": "code_interpreter"}], "functions only"),
    ],
)
def test_hosted_tools_that_cannot_be_had_are_refused_before_anybody_is_asked(
    client: httpx2.Client, provider: Provider, tools: list[dict[str, Any]], word: str
) -> None:
    response = client.post("/v1/responses", json={"model": "ollama/m", "input": "Hi.", "tools": tools})
    assert response.status_code == 400
    assert word in response.json()["error"]["message"]
    assert not provider.asked


@pytest.mark.parametrize("item", [{"type": "function_call", "name": "f"}, {"type": "function_call_output"}])
def test_items_without_their_call_are_refused(client: httpx2.Client, item: dict[str, Any]) -> None:
    response = client.post("/v1/responses", json={"model": "ollama/m", "input": [item], "tools": [FUNCTION]})
    assert response.status_code == 400
    assert "call_id" in response.json()["error"]["message"]
