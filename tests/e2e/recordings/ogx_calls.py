"""The call of each file of OGX's archive, made again with the SDK that made it, and what the file says it gave back.

Nothing here is shared with the importer: the arguments and the objects come from the source file alone.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import pytest

from stackproof.recorder import ids
from stackproof.recorder.scope import Scope

# Host -> the setup that a user of it has, the variable that holds its URL there, and the path of that URL.
HOMES = {
    "0.0.0.0:11434": ("ollama", "OLLAMA_URL", "/v1"),
    "localhost:11434": ("ollama", "OLLAMA_URL", "/v1"),
    "localhost:8000": ("vllm", "VLLM_URL", "/v1"),
    "localhost:8080": ("llama-cpp", "LLAMA_CPP_URL", ""),
    "api.openai.com": ("gpt", "OPENAI_BASE_URL", "/v1"),
    "lls-test.openai.azure.com": ("azure", "AZURE_API_BASE", "/openai/v1"),
    "ogx-test.openai.azure.com": ("azure", "AZURE_API_BASE", "/openai/v1"),
    "us-south.ml.cloud.ibm.com": ("watsonx", "WATSONX_BASE_URL", ""),
    "bedrock-runtime.us-west-2.amazonaws.com": ("bedrock", "BEDROCK_BASE_URL", "/openai/v1"),
    "bedrock-mantle.us-east-2.api.aws": ("bedrock", "BEDROCK_BASE_URL", "/v1"),
    "generativelanguage.googleapis.com": ("gemini", "GEMINI_BASE_URL", "/v1beta/openai"),
    "": ("vertexai", "VERTEX_AI_URL", ""),
}


def as_a_run_has_it(text: str) -> dict[str, Any]:
    """A file with the ids that the test's files get in a run; OGX counts them from a number that its name gives."""
    content: dict[str, Any] = json.loads(text)
    test_id = content.get("test_id")
    if test_id is None:
        return content
    first = int(sha256(test_id.encode()).hexdigest(), 16) % 10**12
    for number in range(1, 10):
        ours = ids.numbered(Scope(name=test_id), "file", number, (f"file-{'0' * 32}",))
        text = re.sub(rf"\bfile-{first + number}\b", ours, text)
    return dict(json.loads(text))


@dataclass(frozen=True, kw_only=True)
class File:
    """A source: its name below the archive's folder, and its content."""

    name: str
    content: dict[str, Any]

    @property
    def request(self) -> dict[str, Any]:
        """What was asked."""
        return dict(self.content["request"])

    @property
    def response(self) -> dict[str, Any]:
        """What came back."""
        return dict(self.content["response"])

    @property
    def test_id(self) -> str | None:
        """Whose call it was."""
        return self.content.get("test_id") or self.request.get("test_id")

    @property
    def is_model_list(self) -> bool:
        """Whether it is one of the lists of models, which belong to no test."""
        return self.request.get("endpoint") == "/v1/models"

    @property
    def home(self) -> tuple[str, str, str]:
        """The setup that its user has, the variable of its URL, and that URL."""
        if "tool_name" in self.request:
            # Called by a test that ran with the setup of its model, and recorded there.
            model = re.search(r"txt=(\w+)/", self.test_id or "")
            setup = {"openai": "gpt"}.get(model[1], model[1]) if model else "tavily"
            return setup, "TAVILY_URL", "https://api.tavily.com"
        url = urlsplit(self.request["url"])
        setup, variable, path = HOMES[url.netloc]
        return (
            setup,
            variable,
            f"{url.scheme}://{url.netloc}{path}" if url.netloc else "https://aiplatform.googleapis.com",
        )


@dataclass(frozen=True, kw_only=True)
class Raised:
    """An exception of an SDK as data. answer: the whole body; the SDK's message shows it in a way of its version."""

    name: str
    status: int
    body: Any
    answer: Any


class Caller:
    """SDKs' clients, made once. `ask` gives what a call gave back, and what its file says, both as plain data."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._openai: dict[str, Any] = {}

    def close(self) -> None:
        """Close every client."""
        self._stack.close()

    def ask(self, file: File) -> tuple[Any, Any]:
        """What the call gives now, and what it gave when it was recorded."""
        request = file.request
        if "tool_name" in request:
            return self._searched(file)
        if "payload" in request:
            return self._passed(file)
        if request["endpoint"].startswith("/generate_content"):
            return self._generated(file)
        if request["endpoint"] == "/api/ps":
            return self._loaded(file)
        return self._asked_openai(file)

    # -- OpenAI's SDK

    def _asked_openai(self, file: File) -> tuple[Any, Any]:
        import openai

        response = file.response
        expected: Any = _named(response["body"])
        if response.get("is_exception"):
            told = response["exception_data"]
            shown = ast.literal_eval(told["message"].removeprefix(f"Error code: {told['status_code']} - "))
            expected = Raised(name=told["type"], status=told["status_code"], body=told["body"], answer=shown)
        try:
            got = _objects(self._through_openai(file))
        except openai.APIStatusError as error:
            answer = error.response.json()
            return Raised(name=type(error).__name__, status=error.status_code, body=error.body, answer=answer), expected
        return got, expected

    def _through_openai(self, file: File) -> Any:
        endpoint, arguments = file.request["endpoint"], file.request["body"]
        client = self._client(file.request["url"].removesuffix(endpoint))
        match endpoint:
            case "/v1/chat/completions":
                return client.chat.completions.create(**arguments)
            case "/v1/completions" if "messages" in arguments:  # an early OGX named the endpoint of a chat so
                return client.chat.completions.create(**arguments)
            case "/v1/completions":
                return client.completions.create(**arguments)
            case "/v1/embeddings":
                return client.embeddings.create(**arguments)
            case "/v1/models":
                return list(client.models.list(**arguments))
            case _:
                raise AssertionError(endpoint)

    def _client(self, base: str) -> Any:
        import openai

        if base not in self._openai:
            client = openai.OpenAI(base_url=base, api_key="a-key", max_retries=0)
            self._openai[base] = self._stack.enter_context(client)
        return self._openai[base]

    # -- the others

    def _loaded(self, file: File) -> tuple[Any, Any]:
        import ollama

        host = file.request["url"].removesuffix("/api/ps")
        got = ollama.Client(host=host, trust_env=False).ps()
        # Its dates are read: the file's own objects are made of the same class before they are compared.
        expected = ollama.ProcessResponse.model_validate(file.response["body"]["__data__"])
        return _objects(got), _objects(expected)

    @cached_property
    def _gemini(self) -> Any:
        from google import genai
        from google.oauth2 import credentials

        anybody: Any = credentials
        signed_in = anybody.Credentials(token="a-token")
        return genai.Client(vertexai=True, project="your-project", location="global", credentials=signed_in)

    def _generated(self, file: File) -> tuple[Any, Any]:
        from google.genai import types

        body, response = file.request["body"], file.response
        arguments: Any = {
            "model": body["model"],
            "contents": [types.Content.model_validate(item) for item in body["contents"]],
            "config": types.GenerateContentConfig.model_validate(body["config"]),
        }
        if response["is_streaming"]:
            got = list(self._gemini.models.generate_content_stream(**arguments))
        else:
            got = [self._gemini.models.generate_content(**arguments)]
        said = response["body"] if response["is_streaming"] else [response["body"]]
        expected = [types.GenerateContentResponse.model_validate(item) for item in said]
        return [_generated(item) for item in got], [_generated(item) for item in expected]

    def _passed(self, file: File) -> tuple[Any, Any]:
        import httpx

        request, response = file.request, file.response
        with httpx.Client(trust_env=False) as client:
            if not response["is_streaming"]:
                got = client.request(request["method"], request["url"], json=request["payload"])
                return (got.status_code, got.json()), (response["status"], response["body"])
            with client.stream(request["method"], request["url"], json=request["payload"]) as stream:
                lines = list(stream.iter_lines())
        return [_line(line) for line in lines], [_line(line) for line in response["body"]]

    def _searched(self, file: File) -> tuple[Any, Any]:
        import httpx

        # As OGX calls it: not through Tavily's SDK, whose request has more fields.
        with httpx.Client(trust_env=False) as client:
            asked = {"api_key": "a-key", "query": file.request["kwargs"]["query"]}
            found = client.post("https://api.tavily.com/search", json=asked).raise_for_status().json()
        said = file.response["body"]["__data__"]
        return json.dumps({"query": found["query"], "top_k": found["results"]}), said["content"]


@contextmanager
def caller() -> Iterator[Caller]:
    """A caller, closed at the end; skips where an SDK is not installed."""
    for module in ("openai", "ollama", "google.genai", "httpx"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    made = Caller()
    try:
        yield made
    finally:
        made.close()


def _objects(value: Any) -> Any:
    """Objects of an SDK as their class's name and the fields that the answer had: nothing is filled in."""
    if isinstance(value, list) or hasattr(value, "__next__"):
        return [_objects(item) for item in value]
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return name, value.model_dump(mode="json", exclude_unset=True, warnings=False)


def _named(body: Any) -> Any:
    """The file's objects in the same form."""
    if isinstance(body, list):
        return [_named(item) for item in body]
    return None if body is None else (body["__type__"], body["__data__"])


def _generated(value: Any) -> Any:
    """An answer of Google's SDK with the headers that a recording keeps; what the SDK adds by itself is left out."""
    headers = {key.lower(): item for key, item in value.sdk_http_response.headers.items()}
    dumped = value.model_dump(mode="json", exclude_none=True, exclude={"sdk_http_response", "parsed"})
    dumped.pop("automatic_function_calling_history", None)
    return headers.get("content-type"), headers.get("content-disposition"), dumped


def _line(line: str) -> Any:
    """A line of an event stream; JSON by its value, for a recording holds it without spaces."""
    name, colon, text = line.partition(":")
    try:
        return name, json.loads(text)
    except ValueError:
        return name, colon, text
