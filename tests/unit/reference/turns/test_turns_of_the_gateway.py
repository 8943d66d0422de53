"""Responses with tools: what the gateway asks the provider step by step, what its caller gets, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from openai.types.responses import Response as OpenAIResponse
from openai.types.responses import ResponseCompletedEvent
from tests.unit.reference.turns.conftest import FUNCTION, USAGE, WEATHER, Provider, ask, call, message, told, types


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
