"""Calls of Google's SDK: its arguments in snake case, as its types dump them, to the JSON that it sends to Vertex AI.

What google-genai 3 does, for the arguments that OGX uses; one that is not listed is refused by its name, for a wrong
guess would be a recording that nobody finds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stackproof.recorder.canonical import compact
from stackproof.recordings.importing import addressee
from stackproof.recordings.importing.imported import Choices, Imported, ImportedAnswer, RefusedSource
from stackproof.recordings.importing.ogx_file import OgxFile
from stackproof.recordings.importing.ogx_gemini_answer import answer_of
from stackproof.recordings.importing.ogx_openai import DERIVED

METHODS: Mapping[str, str] = {
    "/generate_content": "generateContent",
    "/generate_content_stream": "streamGenerateContent?alt=sse",
}
# No project is in the file; the setup's prefix takes any.
_BASE = "https://aiplatform.googleapis.com/v1beta1/projects/any/locations/global"
_MODEL = re.compile(r"publishers/[\w.-]+/models/[\w.@-]+")
_GENERATION = frozenset(
    {
        "candidate_count", "frequency_penalty", "logprobs", "max_output_tokens", "presence_penalty",
        "response_json_schema", "response_logprobs", "response_mime_type", "seed", "stop_sequences", "temperature",
        "top_k", "top_p",
    }
)  # fmt: skip
_KEPT_TO_ITSELF = frozenset({"automatic_function_calling"})
_PARTS = frozenset({"text", "thought", "function_call", "function_response"})
_DECLARED = frozenset({"name", "description", "parameters_json_schema", "response_json_schema"})
_SCHEMA = frozenset({"description", "enum", "format", "nullable", "required", "title"})


def call(file: OgxFile, choices: Choices) -> Imported:
    """One call; RefusedSource for an argument that is not listed."""
    endpoint, arguments = str(file.request["endpoint"]), file.arguments
    model = arguments.get("model")
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        # The SDK completes a bare name.
        model = f"publishers/google/models/{model}"
        if not _MODEL.fullmatch(model):
            raise RefusedSource("its model is no name of a model")
    setup, target = addressee.find(f"{_BASE}/{model}:{METHODS[endpoint]}", choices, run=file.run)
    streamed = endpoint.endswith("_stream")
    answer: ImportedAnswer = answer_of(file.response, streamed=streamed)
    return Imported(
        kind=f"generate_content{', stream' if streamed else ''}",
        scope=file.scope,
        setup=setup,
        target=target,
        method="POST",
        content_type="application/json",
        body=compact(_sent(arguments)),
        answer=answer,
        ids=file.ids,
        provenance={**file.provenance, "derived": DERIVED},
    )


def _sent(arguments: Mapping[str, Any]) -> dict[str, Any]:
    _only(arguments, {"model", "contents", "config"}, "argument")
    contents = arguments.get("contents")
    if not isinstance(contents, list):
        raise RefusedSource("its contents are no list")
    sent: dict[str, Any] = {"contents": [_content(item) for item in contents]}
    config = arguments.get("config")
    if config is None:
        return sent
    if not isinstance(config, dict):
        raise RefusedSource("its config is no object")
    top = {"system_instruction", "tools", "response_schema"}
    _only(config, {*_GENERATION, *_KEPT_TO_ITSELF, *top}, "config")
    if config.get("system_instruction") is not None:
        sent["systemInstruction"] = _instruction(config["system_instruction"])
    if config.get("tools") is not None:
        sent["tools"] = [_tool(item) for item in _list(config["tools"], "tools")]
    generation = {camel(key): value for key, value in config.items() if key in _GENERATION and value is not None}
    if config.get("response_schema") is not None:
        generation["responseSchema"] = _schema(config["response_schema"])
    return {**sent, "generationConfig": generation}


def _instruction(value: Any) -> dict[str, Any]:
    return {"parts": [{"text": value}], "role": "user"} if isinstance(value, str) else _content(value)


def _content(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"parts": [{"text": item}], "role": "user"}
    _only(item, {"role", "parts"}, "content")
    sent: dict[str, Any] = {"parts": [_part(part) for part in _list(item.get("parts"), "parts")]}
    return {**sent, "role": item["role"]} if item.get("role") is not None else sent


def _part(part: Any) -> dict[str, Any]:
    _only(part, _PARTS, "part")
    for name in ("function_call", "function_response"):
        if name in part:
            _only(part[name], {"id", "name", "args", "response"}, "part")
    return {camel(key): value for key, value in part.items() if value is not None}


def _tool(tool: Any) -> dict[str, Any]:
    _only(tool, {"function_declarations"}, "tool")
    declared = _list(tool.get("function_declarations"), "function_declarations")
    for item in declared:
        _only(item, _DECLARED, "function declaration")
    # Their fields stay in snake case: so the SDK sends them, and so they are compared.
    return {"functionDeclarations": declared}


def _schema(schema: Any) -> dict[str, Any]:
    _only(schema, {*_SCHEMA, "type", "properties", "items", "additionalProperties"}, "response_schema")
    sent = {key: value for key, value in schema.items() if key in _SCHEMA}
    if "additionalProperties" in schema:
        extra = schema["additionalProperties"]
        sent["additional_properties"] = _schema(extra) if isinstance(extra, dict) else extra
    if "properties" in schema:
        _only(schema["properties"], None, "response_schema")
        sent["properties"] = {name: _schema(below) for name, below in schema["properties"].items()}
        if len(sent["properties"]) > 1:
            sent["property_ordering"] = list(sent["properties"])
    if "items" in schema:
        sent["items"] = _schema(schema["items"])
    kind = schema.get("type")
    if not isinstance(kind, str):
        raise RefusedSource("its response_schema has a type that is no text")
    return {**sent, "type": kind.upper()}


def camel(name: str) -> str:
    """`function_call` -> `functionCall`."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _only(value: Any, known: set[str] | frozenset[str] | None, what: str) -> None:
    if not isinstance(value, dict):
        raise RefusedSource(f"its {what} is no object")
    unknown = sorted(set(value) - known) if known is not None else []
    if unknown:
        raise RefusedSource(f"its {what} has {unknown[0]!r}, and what the SDK sends for it is not known")


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedSource(f"its {what} are no list")
    return value
