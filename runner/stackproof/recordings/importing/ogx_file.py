"""A file of OGX, taken apart; and the table of the classes whose objects are known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackproof.catalog.records import SetupSpec
from stackproof.recorder.scope import Scope
from stackproof.recordings.importing.imported import RefusedSource

TYPE, DATA = "__type__", "__data__"
# What follows is data about data: no name in it is imported. What a class's fields are is the same JSON as on the wire.
CHAT, CHUNK = "openai.types.chat.chat_completion.ChatCompletion", (
    "openai.types.chat.chat_completion_chunk.ChatCompletionChunk"
)  # fmt: skip
COMPLETION = "openai.types.completion.Completion"
EMBEDDINGS = "openai.types.create_embedding_response.CreateEmbeddingResponse"
MODEL = "openai.types.model.Model"
RESPONSE = "openai.types.responses.response.Response"
OLLAMA_PS, OLLAMA_LIST = "ollama._types.ProcessResponse", "ollama._types.ListResponse"
TOOL_RESULTS = frozenset({"ogx_api.tools.ToolInvocationResult", "llama_stack_api.tools.ToolInvocationResult"})
RESPONSE_EVENT = re.compile(r"openai\.types\.responses\.response_\w+_event\.Response\w+Event")


@dataclass(frozen=True, kw_only=True, slots=True)
class OgxFile:
    """A file, taken apart.

    request: without wrapped objects. response: as in the file. run: the setup of the run that it was recorded in, where
    the name of the test tells. ids: written id -> the provider's own.
    """

    request: Mapping[str, Any]
    response: Mapping[str, Any]
    scope: Scope
    run: SetupSpec | None
    ids: Mapping[str, str]

    @property
    def arguments(self) -> dict[str, Any]:
        """What the SDK was given."""
        body = self.request.get("body")
        if not isinstance(body, dict):
            raise RefusedSource("its request has no arguments")
        return dict(body)

    @property
    def url(self) -> str:
        """The URL as the file says it."""
        url = self.request.get("url")
        if not isinstance(url, str) or not url:
            raise RefusedSource("its request has no URL")
        return url

    @property
    def provenance(self) -> dict[str, object]:
        """What the file says of who answered and what asked; `derived` says what our form of it had to work out."""
        metadata = self.request.get("provider_metadata")
        facts = metadata if isinstance(metadata, dict) else {}
        said: dict[str, object] = {}
        for key, name, field in (
            ("openai_sdk_version", "openai", "sdk"),
            ("ollama_sdk_version", "ollama", "sdk"),
            ("vllm_server_version", "vllm", "server"),
            ("azure_api_version", "azure", "server"),
        ):
            if isinstance(facts.get(key), str) and facts[key] != "unknown":
                said[field] = f"{name} {facts[key]}"
        return said


def unwrapped(value: Any, *known: str) -> Any:
    """The fields of an object of one of the classes named; RefusedSource for any other, and for what is no object."""
    name = type_of(value)
    if name not in known:
        raise RefusedSource(f"its answer has an object of {name!r}, which is not known here" if name else _shapeless())
    return value[DATA]


def type_of(value: Any) -> str | None:
    """The class that an object of the file says it is of; None for what is no such object."""
    if not isinstance(value, dict) or value.keys() != {TYPE, DATA}:
        return None
    return value[TYPE] if isinstance(value[TYPE], str) and isinstance(value[DATA], dict) else None


def objects(value: Any) -> Any:
    """Arguments may be objects too; any of them is the JSON of its fields, whatever class it is of."""
    if isinstance(value, list):
        return [objects(item) for item in value]
    if isinstance(value, dict):
        return objects(value[DATA]) if type_of(value) else {key: objects(item) for key, item in value.items()}
    return value


def _shapeless() -> str:
    return "its answer is no object of an SDK"
