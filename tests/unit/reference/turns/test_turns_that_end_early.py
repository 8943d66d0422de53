"""Turns of the gateway that fail, are left, or are asked for what cannot be had."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai.types.responses import Response as OpenAIResponse
from starlette.responses import JSONResponse, Response
from tests.unit.reference.turns.conftest import (
    ENVIRON,
    FUNCTION,
    WEATHER,
    Gateway,
    Provider,
    ask,
    call,
    message,
    told,
    types,
)


def rollout(folder: Path) -> list[dict[str, Any]]:
    """The one rollout of the folder, as soon as its turn has ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for path in folder.glob("*.jsonl"):
            records = [json.loads(line) for line in path.read_text().splitlines()]
            if records and records[-1].get("event", "turn_started") != "turn_started":
                return records
        time.sleep(0.02)
    raise AssertionError(f"no turn has ended in {folder}")


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
    assert provider.left.wait(60)
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
    for patience in (0.5, 5.0, 30.0):
        with pytest.raises(httpx2.ReadTimeout):
            client.post("/v1/responses", json=body, timeout=patience)
        if provider.asked:  # or the machine was too slow for this one
            break
    assert provider.left.wait(60)
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
        deadline = time.monotonic() + 60
        while not (alive.exists() and alive.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
    records = rollout(tmp_path / "rollouts")
    assert records[-1]["event"] == "turn_aborted"
    assert records[-2]["item"] == {"type": "function_call_output", "call_id": "call_1", "output": "aborted"}
    assert not _runs(alive.read_text().strip())
    assert len(provider.asked) == 1


def _runs(pid: str) -> bool:
    """Whether this process does; one that its parent has not waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


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
    tools.write_text(json.dumps({"s": {"show": {**tool, "run": {"command": ["sh", "-c", "env"], "seconds": 60}}}}))
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
