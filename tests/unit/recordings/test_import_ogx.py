"""Each shape of OGX's files, with values made up here: what was sent, what came back, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stackproof import catalog
from stackproof.catalog.records import SetupSpec
from stackproof.recorder import events, recording, scope
from stackproof.recorder.scope import STACK
from stackproof.recordings.importing import ogx
from stackproof.recordings.importing.answer import response_of
from stackproof.recordings.importing.imported import Choices, Imported, RefusedSource, Source

TEST = "tests/integration/inference/test_made_up.py::test_it[txt=m]"
CHAT = {"id": "rec-1", "object": "chat.completion", "created": 0, "model": "m", "choices": [], "usage": None}
CHUNK = {"id": "rec-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": []}
TYPES = {
    "chat": "openai.types.chat.chat_completion.ChatCompletion",
    "chunk": "openai.types.chat.chat_completion_chunk.ChatCompletionChunk",
    "completion": "openai.types.completion.Completion",
    "embeddings": "openai.types.create_embedding_response.CreateEmbeddingResponse",
    "model": "openai.types.model.Model",
    "ps": "ollama._types.ProcessResponse",
    "tool": "ogx_api.tools.ToolInvocationResult",
}


def wrapped(kind: str, data: Any) -> dict[str, Any]:
    """An object as OGX writes it."""
    return {"__type__": TYPES[kind], "__data__": data}


def sdk(endpoint: str, arguments: Any, body: Any, *, base: str = "http://0.0.0.0:11434/v1", **more: Any) -> Any:
    """A file of a call of OpenAI's SDK."""
    response = {"body": body, "is_streaming": isinstance(body, list) and endpoint != "/v1/models", **more}
    request = {"method": "POST", "url": base + endpoint, "headers": {}, "body": arguments, "endpoint": endpoint}
    return {"test_id": TEST, "request": request, "response": response, "id_normalization_mapping": {}}


@cache
def known() -> Mapping[str, SetupSpec]:
    """The setups that there are."""
    return catalog.load(Path(__file__).parents[3]).setups


def read(data: Any, **chosen: Any) -> Imported:
    """The one call of a file."""
    source = Source(name="a.json", raw=json.dumps(data).encode())
    assert ogx.recognises(source)
    (item,) = ogx.read(source, Choices(setups=known(), **chosen))
    assert isinstance(item, Imported)
    return item


def sent(item: Imported) -> Any:
    return json.loads(item.body)


def test_a_chat_is_sent_as_the_sdk_was_told() -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 1.0, "stop": None}
    item = read(sdk("/v1/chat/completions", asked, wrapped("chat", CHAT)))
    assert (item.method, item.target.provider, item.target.path) == ("POST", "ollama", "/chat/completions")
    assert (item.setup.name, item.target.shown) == ("ollama", "{OLLAMA_URL}")
    assert sent(item) == asked  # null too: only what the SDK was not given is not sent
    assert (item.answer.status, json.loads(item.answer.body)) == (200, CHAT)
    assert (item.scope.name, item.scope.test_id) == (TEST, TEST)
    assert item.kind == "chat completion"


def test_what_the_sdk_merges_or_keeps_to_itself() -> None:
    asked = {
        "model": "m", "prompt": "Hi", "extra_body": {"guided_choice": ["a"], "model": "other"},
        "extra_headers": {"X-A": "b"}, "extra_query": {"project_id": "p q", "dry": True}, "timeout": 3,
    }  # fmt: skip
    item = read(sdk("/v1/completions", asked, wrapped("completion", {"object": "text_completion"})))
    assert sent(item) == {"model": "other", "prompt": "Hi", "guided_choice": ["a"]}
    assert item.target.query == "project_id=p+q&dry=true"
    assert item.target.path == "/completions"


def test_a_stream_is_events_and_their_end() -> None:
    asked = {"model": "m", "messages": [], "stream": True}
    item = read(sdk("/v1/chat/completions", asked, [wrapped("chunk", CHUNK), wrapped("chunk", CHUNK)]))
    response = response_of(item.answer)
    assert response["framing"] == "sse"
    assert [event.get("data", event.get("text")) for event in response["events"]] == [CHUNK, CHUNK, "[DONE]"]
    assert item.kind == "chat completion, stream"


def test_events_of_the_responses_wire_have_their_names() -> None:
    event = {"type": "response.completed", "response": {"id": "resp_1"}, "sequence_number": 1}
    name = "openai.types.responses.response_completed_event.ResponseCompletedEvent"
    item = read(sdk("/v1/responses", {"model": "m", "stream": True}, [{"__type__": name, "__data__": event}]))
    assert response_of(item.answer)["events"] == [{"event": "response.completed", "data": event}]


def test_a_stream_that_broke_off_ends_where_it_broke() -> None:
    told = {"category": "provider_sdk", "provider": "openai", "type": "APIError", "status_code": None, "body": None}
    asked = {"model": "m", "messages": [], "stream": True}
    item = read(
        sdk("/v1/chat/completions", asked, [wrapped("chunk", CHUNK)], is_exception=True, exception_data=told)
    )  # fmt: skip
    response = response_of(item.answer)
    assert (response["complete"], response["is_exception"]) == (False, True)
    assert [event["data"] for event in response["events"]] == [CHUNK]


def test_an_embedding_without_a_format_is_asked_for_as_base64() -> None:
    body = wrapped("embeddings", {"object": "list", "data": []})
    assert sent(read(sdk("/v1/embeddings", {"model": "m", "input": "a"}, body)))["encoding_format"] == "base64"
    asked = {"model": "m", "input": "a", "encoding_format": "float"}
    assert sent(read(sdk("/v1/embeddings", asked, body))) == asked


def test_a_list_of_models_is_asked_for_with_get() -> None:
    item = read(sdk("/v1/models", {}, [wrapped("model", {"id": "m", "object": "model"})]))
    assert (item.method, item.body, item.target.path) == ("GET", b"", "/models")
    assert json.loads(item.answer.body) == {"object": "list", "data": [{"id": "m", "object": "model"}]}


def test_an_error_has_the_whole_answer_that_its_message_shows() -> None:
    error = {"message": "no", "type": "invalid_request_error", "param": None, "code": "bad"}
    whole = {"status": 400, "error": error, "trace": "a-trace"}
    told = {
        "category": "provider_sdk", "provider": "openai", "type": "BadRequestError", "status_code": 400,
        "body": error, "message": f"Error code: 400 - {whole}",
    }  # fmt: skip
    asked = {"model": "m", "messages": []}
    item = read(sdk("/v1/chat/completions", asked, None, is_exception=True, exception_data=told))
    assert (item.answer.status, json.loads(item.answer.body)) == (400, whole)
    told["message"] = "Error code: 400 - __import__('os').getcwd()"  # nothing of a file is ever run
    item = read(sdk("/v1/chat/completions", asked, None, is_exception=True, exception_data=told))
    assert json.loads(item.answer.body) == {"error": error}


def test_what_ollama_has_loaded() -> None:
    body = wrapped("ps", {"models": [{"model": "m", "expires_at": "2025-01-01T00:00:00Z"}]})
    item = read(sdk("/api/ps", {}, body, base="http://localhost:11434"))
    assert (item.method, item.target.path, item.setup.name) == ("GET", "/api/ps", "ollama")
    assert json.loads(item.answer.body) == body["__data__"]


def test_a_call_that_was_passed_through() -> None:
    request = {"test_id": TEST, "url": "http://0.0.0.0:11434/v1/messages", "method": "POST", "payload": {"model": "m"}}
    item = read({"request": request, "response": {"status": 400, "body": {"type": "error"}, "is_streaming": False}})
    assert (item.target.path, sent(item), item.answer.status) == ("/messages", {"model": "m"}, 400)
    assert item.scope.name == TEST
    assert item.kind == "messages over HTTP"


def test_lines_of_a_stream_that_was_passed_through() -> None:
    lines = ["event: ping", 'data: {"type": "ping"}', "", "data: [DONE]", ""]
    request = {"url": "https://generativelanguage.googleapis.com/v1beta/interactions", "method": "POST", "payload": {}}
    item = read({"test_id": TEST, "request": request, "response": {"body": lines, "is_streaming": True}})
    assert response_of(item.answer)["events"] == [{"event": "ping", "data": {"type": "ping"}}, {"text": "[DONE]"}]
    assert (item.setup.name, item.target.path) == ("gemini", "/v1beta/interactions")


def test_a_rerank_over_http() -> None:
    request = {"test_id": TEST, "url": "http://localhost:8000/rerank", "method": "POST", "payload": {"query": "q"}}
    item = read({"request": request, "response": {"status": 200, "body": {"results": []}, "is_streaming": False}})
    assert (item.setup.name, item.target.provider, item.target.path) == ("vllm", "vllm", "/rerank")


def test_a_search_of_the_web() -> None:
    request = {"test_id": TEST, "provider": "tavily", "tool_name": "web_search", "kwargs": {"query": "q"}}
    content = json.dumps({"query": "q", "top_k": [{"url": "https://example.com"}]})
    body = wrapped("tool", {"content": content, "error_message": None, "error_code": None, "metadata": None})
    item = read({"request": request, "response": {"body": body, "is_streaming": False}})
    assert sent(item) == {"api_key": "***", "query": "q"}
    assert json.loads(item.answer.body) == {"query": "q", "results": [{"url": "https://example.com"}]}
    assert (item.setup.name, item.target.path) == ("tavily", "/search")
    assert item.scope == STACK, "found by its arguments, whichever test asks"


def gemini(config: Any, body: Any, endpoint: str = "/generate_content") -> Any:
    """A file of a call of Google's SDK."""
    arguments = {
        "model": "publishers/google/models/g",
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"function_call": {"name": "look_up", "args": {"a_key": 1}}}]},
        ],
        "config": config,
    }
    file = sdk(endpoint, arguments, body, base="vertexai://")
    return file | {"request": file["request"] | {"provider_metadata": {"provider": "vertexai"}}}


def test_gemini_arguments_as_googles_sdk_sends_them() -> None:
    config = {
        "system_instruction": "Be brief.", "max_output_tokens": 5, "response_mime_type": "application/json",
        "response_schema": {
            "type": "object", "additionalProperties": False, "required": ["b"],
            "properties": {"b": {"type": "array", "items": {"type": "string"}}, "a": {"type": "integer"}},
        },
        "tools": [{"function_declarations": [{"name": "look_up", "parameters_json_schema": {"type": "object"}}]}],
    }  # fmt: skip
    item = read(gemini(config, {"candidates": []}))
    assert sent(item) == {
        "contents": [
            {"parts": [{"text": "Hi"}], "role": "user"},
            {"parts": [{"functionCall": {"name": "look_up", "args": {"a_key": 1}}}], "role": "model"},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
        "tools": [{"functionDeclarations": [{"name": "look_up", "parameters_json_schema": {"type": "object"}}]}],
        "generationConfig": {
            "maxOutputTokens": 5,
            "responseMimeType": "application/json",
            "responseSchema": {
                "type": "OBJECT", "additional_properties": False, "required": ["b"], "property_ordering": ["b", "a"],
                "properties": {"b": {"type": "ARRAY", "items": {"type": "STRING"}}, "a": {"type": "INTEGER"}},
            },
        },
    }  # fmt: skip
    assert (item.setup.name, item.target.path) == ("vertexai", "/publishers/google/models/g:generateContent")


def test_gemini_answers_have_googles_names_again_and_a_callers_own() -> None:
    chunk = {
        "sdk_http_response": {"headers": {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}},
        "candidates": [{"content": {"parts": [{"function_call": {"name": "f", "args": {"a_key": {"b_key": 1}}}}]}}],
        "usage_metadata": {"total_token_count": 3},
        "automatic_function_calling_history": [],
    }
    item = read(gemini({}, [chunk], "/generate_content_stream"))
    assert item.target.query == "alt=sse"
    (event,) = response_of(item.answer)["events"]
    assert event["data"] == {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a_key": {"b_key": 1}}}}]}}],
        "usageMetadata": {"totalTokenCount": 3},
    }
    assert "content-encoding" not in item.answer.headers


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"thinking_config": {}}, "thinking_config"),
        ({"response_schema": {"$ref": "#"}}, "\\$ref"),
        ({"tools": [{"google_search": {}}]}, "google_search"),
    ],
)
def test_an_argument_of_google_that_is_not_known_is_named(config: Any, named: str) -> None:
    with pytest.raises(RefusedSource, match=named):
        read(gemini(config, {"candidates": []}))


@pytest.mark.parametrize(
    ("base", "setup", "path"),
    [
        ("https://api.openai.com/v1", "gpt", "/chat/completions"),
        ("https://a-tenant.openai.azure.com/openai/v1", "azure", "/chat/completions"),
        ("https://us-south.ml.cloud.ibm.com/ml/v1", "watsonx", "/ml/v1/chat/completions"),
        ("https://eu-de.ml.cloud.ibm.com/ml/v1", "watsonx", "/ml/v1/chat/completions"),
        ("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "bedrock", "/chat/completions"),
        ("https://bedrock-mantle.us-east-2.api.aws/v1", "bedrock", "/chat/completions"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini", "/chat/completions"),
        ("http://localhost:8000/v1", "vllm", "/chat/completions"),
        ("http://localhost:8080", "llama-cpp", "/chat/completions"),
        ("__databricks__/serving-endpoints", "databricks", "/serving-endpoints/chat/completions"),
        ("https://api.groq.com/openai/v1", "groq", "/chat/completions"),
    ],
)
def test_who_was_called_is_told_by_the_host(base: str, setup: str, path: str) -> None:
    item = read(sdk("/v1/chat/completions", {"model": "m", "messages": []}, wrapped("chat", CHAT), base=base))
    assert (item.setup.name, item.target.path) == (setup, path)


def test_a_host_that_nobody_knows_needs_a_setup() -> None:
    data = sdk("/v1/chat/completions", {"model": "m"}, wrapped("chat", CHAT), base="http://gpu-7.example.com:9000/v1")
    with pytest.raises(RefusedSource, match=r"no setup has a provider at gpu-7\.example\.com; say --setup"):
        read(data)
    vllm = known()["vllm"]
    item = read(data, setup=vllm)
    assert (item.target.provider, item.target.path, item.target.shown) == ("vllm", "/chat/completions", "{VLLM_URL}")
    assert read(data, provider="tgi").setup.name == "tgi"


def test_ids_that_ogx_wrote_are_in_the_answer_and_the_real_ones_beside_it() -> None:
    data = sdk(
        "/v1/chat/completions", {"model": "m", "user": "call_real1"}, wrapped("chat", CHAT | {"id": "call_real1"})
    )
    data["id_normalization_mapping"] = {"call_1": "call_real1"}
    item = read(data)
    assert json.loads(item.answer.body)["id"] == "call_1"
    assert sent(item)["user"] == "call_1"
    assert item.ids == {"call_1": "call_real1"}


def test_tests_may_live_elsewhere_here() -> None:
    data = sdk("/v1/chat/completions", {"model": "m"}, wrapped("chat", CHAT))
    item = read(data, renames=(("tests/integration/infer", "x"), ("tests/integration/inference", "tests/base")))
    assert item.scope.name == "tests/base/test_made_up.py::test_it[txt=m]"


def test_a_file_without_a_test_belongs_to_the_stack() -> None:
    assert read(sdk("/v1/chat/completions", {}, wrapped("chat", CHAT)) | {"test_id": None}).scope == scope.STACK


def test_what_the_source_says_of_versions_and_nothing_else() -> None:
    data = sdk("/v1/chat/completions", {}, wrapped("chat", CHAT))
    assert set(read(data).provenance) == {"derived"}
    data["request"]["provider_metadata"] = {"openai_sdk_version": "2.5.0", "vllm_server_version": "0.9.2"}
    said = read(data).provenance
    assert (said["sdk"], said["server"]) == ("openai 2.5.0", "vllm 0.9.2")


def test_what_is_cut_into_events_comes_out_the_same() -> None:
    item = read(sdk("/v1/chat/completions", {"stream": True}, [wrapped("chunk", CHUNK | {"model": "mü\u2028"})]))
    response = response_of(item.answer)
    assert b"".join(recording.chunks_of(response)) == item.answer.body
    assert events.FRAMINGS[0] == response["framing"]


@pytest.mark.parametrize(
    ("raw", "is_one"),
    [
        (b'{"request": {}, "response": {}}', True),
        (b'{"version": 1, "interactions": [{"request": {}, "response": {}}]}', False),
        (b"interactions:\n- request:\n  response:\n", False),
        (b"", False),
    ],
)
def test_a_cassette_of_another_tool_is_not_taken_for_one(raw: bytes, is_one: bool) -> None:
    assert ogx.recognises(Source(name="a.json", raw=raw)) is is_one


def test_what_a_test_asks_beside_its_model_is_recorded_with_the_setup_of_its_model() -> None:
    request = {"provider": "tavily", "tool_name": "web_search", "kwargs": {"query": "q"}}
    body = wrapped("tool", {"content": json.dumps({"query": "q", "top_k": []})})
    item = read({"test_id": "tests/a.py::t[client-txt=azure/gpt-4o]", "request": request, "response": {"body": body}})
    assert (item.setup.name, item.target.provider, item.target.shown) == ("azure", "tavily", "{tavily}")
    asked = sdk("/v1/embeddings", {"input": "a"}, wrapped("embeddings", {}), base="https://api.openai.com/v1")
    item = read(asked | {"test_id": "tests/a.py::t[emb=openai/e-txt=vllm/m]"})
    assert (item.setup.name, item.target.provider, item.target.path) == ("vllm", "openai", "/embeddings")
    item = read(asked | {"test_id": "tests/a.py::t[txt=nobody/m]"})
    assert (item.setup.name, item.target.provider) == ("gpt", "openai")
    listed = sdk("/v1/models", {}, [], base="https://api.openai.com/v1") | {"test_id": "tests/a.py::t[txt=vllm/m]"}
    assert read(listed).setup.name == "gpt"  # a list of models is nobody's in particular
