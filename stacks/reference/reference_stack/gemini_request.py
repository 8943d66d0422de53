"""A chat request in OpenAI's shape, as the arguments of google-genai's `generate_content`.

Shapes: https://ai.google.dev/api/generate-content. What has no counterpart there is refused, not left out in silence.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from reference_stack.answers import RefusedError

# OpenAI's name -> the SDK's.
_PLAIN = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "n": "candidate_count",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
# Said about the request, or answered by the gateway itself; the rest has a function below.
_ASIDE = frozenset({"model", "messages", "stream", "stream_options", "user", "metadata", "store"})
_OTHERS = frozenset({"stop", "tools", "tool_choice", "response_format"})
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def arguments(body: dict[str, Any], model: str) -> dict[str, Any]:
    """`model`, `contents` and `config` for the SDK; RefusedError 400 for what cannot be said to Gemini."""
    for name, value in body.items():
        if value is not None and name not in _PLAIN and name not in _ASIDE and name not in _OTHERS:
            raise RefusedError(400, f"The parameter {name!r} has no counterpart in Gemini's API.", param=name)
    contents, system = _contents(body["messages"])
    config = {there: body[here] for here, there in _PLAIN.items() if body.get(here) is not None}
    # Functions are the caller's to call.
    config["automatic_function_calling"] = {"disable": True}
    if system:
        config["system_instruction"] = system
    if body.get("stop") is not None:
        config["stop_sequences"] = [body["stop"]] if isinstance(body["stop"], str) else body["stop"]
    if body.get("tools"):
        config["tools"] = [{"function_declarations": [_declared(tool) for tool in body["tools"]]}]
    if body.get("tool_choice") is not None:
        config["tool_config"] = {"function_calling_config": _choice(body["tool_choice"])}
    return {"model": model, "contents": contents, "config": {**config, **_format(body.get("response_format"))}}


def _contents(messages: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The conversation, and the parts of the system's instruction."""
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise RefusedError(400, "The parameter 'messages' must be a list of messages.", param="messages")
    contents: list[dict[str, Any]] = []
    system: list[dict[str, Any]] = []
    called: dict[str, str] = {}  # an answer to a function call is known by the function's name here
    for message in messages:
        match message.get("role"):
            case "system" | "developer":
                system += _parts(message.get("content"))
            case "user":
                contents.append({"role": "user", "parts": _parts(message.get("content"))})
            case "assistant":
                calls = message.get("tool_calls") or []
                called |= {call["id"]: call["function"]["name"] for call in calls}
                parts = [] if message.get("content") is None else _parts(message["content"])
                contents.append({"role": "model", "parts": [*parts, *map(_call, calls)]})
            case "tool":
                result = _result(message, called)
                if contents and any("function_response" in part for part in contents[-1]["parts"]):
                    contents[-1]["parts"].append(result)  # all answers to one turn's calls are one turn
                else:
                    contents.append({"role": "user", "parts": [result]})
            case other:
                raise RefusedError(400, f"Messages with the role {other!r} are not known.", param="messages")
    return contents, system


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else [_part(part) for part in content or []]


def _part(part: Any) -> dict[str, Any]:
    match part:
        case {"type": "text", "text": str(text)}:
            return {"text": text}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _image(url)
        case _:
            raise RefusedError(400, f"A part of a message cannot be read: {json.dumps(part)[:200]}", param="messages")


def _image(url: str) -> dict[str, Any]:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return {"file_data": {"file_uri": url}}
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise RefusedError(400, f"An image's data is not base64: {error}", param="messages") from error
    return {"inline_data": {"mime_type": head[len("data:") : -len(";base64")], "data": content}}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        args = json.loads(function.get("arguments") or "{}")
    except ValueError as error:
        raise RefusedError(400, f"The arguments of a tool call are not JSON: {error}", param="messages") from error
    return {"function_call": {"name": function["name"], "args": args}}


def _result(message: dict[str, Any], called: dict[str, str]) -> dict[str, Any]:
    name = called.get(message.get("tool_call_id", ""))
    if name is None:
        text = f"No tool call before this has the id {message.get('tool_call_id')!r}."
        raise RefusedError(400, text, param="messages")
    text = "".join(part.get("text", "") for part in _parts(message.get("content")))
    return {"function_response": {"name": name, "response": {"result": text}}}


def _declared(tool: Any) -> dict[str, Any]:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        raise RefusedError(400, "Only tools of the type 'function' can be given to Gemini here.", param="tools")
    function = tool["function"]
    declared = {"name": function["name"], "description": function.get("description")}
    if function.get("parameters"):
        declared["parameters_json_schema"] = function["parameters"]
    return {name: value for name, value in declared.items() if value is not None}


def _choice(choice: Any) -> dict[str, Any]:
    match choice:
        case str() if choice in _MODES:
            return {"mode": _MODES[choice]}
        case {"type": "function", "function": {"name": str(name)}}:
            return {"mode": "ANY", "allowed_function_names": [name]}
        case _:
            raise RefusedError(400, f"This tool choice is not known: {json.dumps(choice)}", param="tool_choice")


def _format(wanted: Any) -> dict[str, Any]:
    match wanted:
        case None | {"type": "text"}:
            return {}
        case {"type": "json_object"}:
            return {"response_mime_type": "application/json"}
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return {"response_mime_type": "application/json", "response_json_schema": schema}
        case _:
            raise RefusedError(400, f"This response format is not known: {json.dumps(wanted)}", param="response_format")
