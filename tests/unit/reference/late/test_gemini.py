"""Chat with Gemini's models: what Google is asked, and what comes back in OpenAI's shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

if TYPE_CHECKING:
    from tests.unit.reference.late.conftest import Provider

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {"model": "gemini/gemini-x", "messages": [{"role": "user", "content": "Hi"}]}
USAGE = {"promptTokenCount": 2, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "totalTokenCount": 9}
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather", "parameters": {"type": "object", "properties": {}}},
}


def answer(*parts: dict[str, Any], reason: str | None = "STOP", usage: bool = True) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], **({"usageMetadata": USAGE} if usage else {})}


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


def chunks(text: str) -> list[Any]:
    found = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert found[-1] == "[DONE]"
    return [json.loads(one) for one in found[:-1]]


def test_a_question_and_its_answer_are_translated(client: httpx2.Client, provider: Provider) -> None:
    provider.body = answer({"text": "thinking", "thought": True}, {"text": "Hel"}, {"text": "lo"})
    body = {**ASKED, "temperature": 0, "max_tokens": 5, "stop": "END", "seed": 3}
    body["messages"] = [{"role": "system", "content": "Be short."}, *body["messages"]]
    told = client.post(CHAT, json=body).json()
    assert told["id"].startswith("chatcmpl-")
    assert (told["object"], told["model"]) == ("chat.completion", "gemini/gemini-x")
    message = {"role": "assistant", "content": "Hello"}
    assert told["choices"] == [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    assert told["usage"] == {"prompt_tokens": 2, "completion_tokens": 7, "total_tokens": 9}
    (asked,) = provider.asked
    assert asked.path == "/v1beta/models/gemini-x:generateContent"
    assert asked.headers["x-goog-api-key"] == "a-key"
    assert asked.body["contents"] == [{"role": "user", "parts": [{"text": "Hi"}]}]
    assert asked.body["systemInstruction"]["parts"] == [{"text": "Be short."}]
    config = {"temperature": 0, "maxOutputTokens": 5, "stopSequences": ["END"], "seed": 3}
    assert asked.body["generationConfig"] == config


def test_a_stream_is_translated_piece_by_piece(client: httpx2.Client, provider: Provider) -> None:
    provider.media_type = "text/event-stream"
    provider.body = sse(answer({"text": "Hel"}, reason=None, usage=False), answer({"text": "lo"}, reason="MAX_TOKENS"))
    told = client.post(CHAT, json={**ASKED, "stream": True, "stream_options": {"include_usage": True}})
    assert told.headers["content-type"].startswith("text/event-stream")
    first, second, last = chunks(told.text)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "Hel"}
    assert (second["choices"][0]["delta"], second["choices"][0]["finish_reason"]) == ({"content": "lo"}, "length")
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 9)
    assert {one["id"] for one in (first, second, last)} == {first["id"]}
    assert provider.asked[0].path == "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_call_is_translated(client: httpx2.Client, provider: Provider, *, streamed: bool) -> None:
    whole = answer({"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}})
    provider.body = sse(whole) if streamed else whole
    provider.media_type = "text/event-stream" if streamed else "application/json"
    body = {**ASKED, "tools": [TOOL], "tool_choice": "required", "stream": streamed}
    response = client.post(CHAT, json=body)
    told = chunks(response.text)[0] if streamed else response.json()
    (choice,) = told["choices"]
    (call,) = choice["delta" if streamed else "message"]["tool_calls"]
    assert call["id"].startswith("call_")
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    assert (call.get("index"), choice["finish_reason"]) == (0 if streamed else None, "tool_calls")
    (asked,) = provider.asked
    (declared,) = asked.body["tools"][0]["functionDeclarations"]
    assert declared["name"] == "get_weather"
    assert asked.body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}


def test_a_tools_answer_goes_back_under_its_name(client: httpx2.Client, provider: Provider) -> None:
    provider.body = answer({"text": "Sunny."})
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    turns = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sun"},
    ]
    assert client.post(CHAT, json={**ASKED, "messages": [*ASKED["messages"], *turns]}).status_code == 200
    assert provider.asked[0].body["contents"][1:] == [
        {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": {"result": "sun"}}}]},
    ]


def test_an_image_and_a_schema_are_translated(client: httpx2.Client, provider: Provider) -> None:
    provider.body = answer({"text": "{}"})
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = {
        **ASKED,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    }
    assert client.post(CHAT, json=body).status_code == 200
    (asked,) = provider.asked
    sent = asked.body["contents"][0]["parts"][1]["inlineData"]
    # Google reads either name; which one the SDK writes depends on its version.
    assert (sent["data"], sent.get("mimeType") or sent["mime_type"]) == ("AAAA", "image/png")
    assert asked.body["generationConfig"] == {"responseMimeType": "application/json", "responseJsonSchema": schema}


@pytest.mark.parametrize("streamed", [False, True])
def test_googles_error_is_told_in_openais_shape(client: httpx2.Client, provider: Provider, *, streamed: bool) -> None:
    provider.status = 404
    provider.body = {"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}
    response = client.post(CHAT, json={**ASKED, "stream": streamed})
    assert response.status_code == 404
    error = {"message": "no such model", "type": "not_found_error", "param": None, "code": "NOT_FOUND"}
    assert response.json() == {"error": error}
    assert len(provider.asked) == 1, "nobody asks again by himself"


@pytest.mark.parametrize("streamed", [False, True])
def test_nobody_at_the_address_is_a_502(client_of_nobody: httpx2.Client, *, streamed: bool) -> None:
    response = client_of_nobody.post(CHAT, json={**ASKED, "stream": streamed})
    assert response.status_code == 502
    assert "'gemini' gave no answer" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"logit_bias": {"1": 2}}, "logit_bias"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": [{"role": "wizard", "content": ""}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages"),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": ""}]}, "messages"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"tool_choice": "maybe"}, "tool_choice"),
        ({"response_format": {"type": "xml"}}, "response_format"),
    ],
)
def test_what_cannot_be_said_to_gemini_is_refused(
    client: httpx2.Client, provider: Provider, more: dict[str, Any], param: str
) -> None:
    response = client.post(CHAT, json={**ASKED, **more})
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)
    assert not provider.asked
