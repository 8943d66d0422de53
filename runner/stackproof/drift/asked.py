"""What a request asked for, as far as it decides what its answer looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# They change what is said, not how.
_NEUTRAL = frozenset(
    {
        "messages", "input", "prompt", "contents", "system", "systemInstruction", "instructions", "temperature",
        "top_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "user", "metadata",
        "model", "stop", "stop_sequences", "presence_penalty", "frequency_penalty", "query", "documents", "keep_alive",
        "safety_identifier", "prompt_cache_key",
    }
)  # fmt: skip
_BY_VALUE = ("stream", "store", "background", "encoding_format", "dimensions", "search_depth", "topic")
_ID = re.compile(r"(?<=/)(?:[A-Za-z]{1,16}[_-])?[0-9A-Za-z-]*\d[0-9A-Za-z-]{7,}(?=/|\Z)")


def key_of(request: Mapping[str, Any]) -> str:
    """Equal for requests whose answers can be compared: provider, method, endpoint, model, and the options chosen.

    Ids within the path are left out; of the body's options those that add or take away fields count by their presence.
    """
    body = (request.get("body") or {}).get("json")
    options: list[str] = []
    if isinstance(body, dict):
        options = sorted(set(body) - _NEUTRAL)
        options += [f"{name}={json.dumps(body[name])}" for name in _BY_VALUE if name in body]
        usage = body.get("stream_options")
        if isinstance(usage, dict):
            options.append(f"usage={usage.get('include_usage')}")
        for name in ("response_format", "text", "thinking", "reasoning", "format"):
            inner = body.get(name)
            if isinstance(inner, dict):
                options.append(f"{name}: {', '.join(sorted(inner))} {inner.get('type', '')}")
        said = body.get("messages")
        if isinstance(said, list) and said and isinstance(said[-1], dict):
            options.append(f"last: {said[-1].get('role')}")
    query = sorted(str(pair[0]) for pair in request.get("query") or () if isinstance(pair, list) and pair)
    return json.dumps(
        [
            request.get("provider"),
            request.get("method"),
            endpoint_of(request),
            request.get("model"),
            options,
            query,
        ]
    )


def endpoint_of(request: Mapping[str, Any]) -> str:
    """The path below the provider's URL, `{id}` in place of ids in it."""
    path = str(request.get("path") or request.get("endpoint") or "")
    return path if "/models/" in path else _ID.sub("{id}", path)
