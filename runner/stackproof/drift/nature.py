"""What varies by nature between two answers to one request, though nothing has changed: tables, and nothing else.

Names are those of OpenAI's API reference (chat completions, responses), Anthropic's Messages API, Ollama's API and
Gemini's `generateContent`, and of the servers that speak their protocols.
"""

from __future__ import annotations

import re

# A value under these names says which kind of thing its object is, or why an answer ended: another one is told.
TELLING = frozenset(
    {
        "type", "object", "role", "event_type", "finish_reason", "stop_reason", "done_reason", "finishReason", "status",
        "blockReason",
    }
)  # fmt: skip

# What is inside of these is the caller's own, or the model's, or counts beyond number: only their type is looked at.
OPAQUE = frozenset(
    {
        "arguments", "args", "input", "parameters", "schema", "input_schema", "json_schema", "response_schema",
        "properties", "$defs", "metadata", "tools", "tool_choice", "logprobs", "top_logprobs", "logprobsResult",
        "token_logprobs", "text_offset", "tokens", "bytes", "context", "model_info", "timings", "passthrough",
        "extra_properties", "search_entry_point", "searchEntryPoint", "action", "queries", "content_filter_results",
        "content_filter_result", "content_filter_offsets", "prompt_filter_results",
    }
)  # fmt: skip

# Ways to say something, in a message and in a part of Gemini's: which of them a model takes is its choice, as long as
# it takes one.
_WAYS = (
    frozenset(
        {
            "content", "refusal", "tool_calls", "function_call", "reasoning", "reasoning_content", "reasoning_details",
            "thinking", "thinking_blocks", "audio",
        }
    ),
    frozenset({"text", "functionCall", "thought", "inlineData", "executableCode", "codeExecutionResult"}),
)  # fmt: skip
SAID = frozenset().union(*_WAYS)


def ways_beside(name: str) -> frozenset[str]:
    """The other ways to say what a field of this name says; none for a field that says nothing."""
    return next((ways - {name} for ways in _WAYS if name in ways), frozenset())


# There or not, null or not, as the model, the moment or the account has it.
PASSING = frozenset(
    {
        "logprobs", "top_logprobs", "annotations", "citations", "citation_metadata", "citationMetadata",
        "groundingMetadata", "groundingSupports", "safetyRatings", "avgLogprobs", "thoughtSignature",
        "thought_signature", "signature", "encrypted_content", "incomplete_details", "stop_sequence", "stop", "error",
        "service_tier",
        "system_fingerprint", "obfuscation", "prompt_logprobs", "prompt_token_ids", "token_ids", "kv_transfer_params",
        "timings", "completed_at", "native_finish_reason", "stop_details", "content_filter_results",
        "content_filter_result", "content_filter_offsets", "prompt_filter_results",
    }
)  # fmt: skip

# Vectors: how long they are is a part of their type.
VECTORS = frozenset({"embedding", "embeddings", "values"})

# Sent while a model is silent; when, nobody can tell.
IDLE_EVENTS = frozenset({"ping", "keepalive", "response.keepalive", "heartbeat"})

# What one stream may end with where another ends well: the answer was cut, and no client takes that for a break.
ENDS_AS_WELL = {"response.completed": "response.incomplete"}

_ID = re.compile(r"\d{4}|\A\d+\Z|\A[0-9a-f]{8,}\Z|[/\s@]|.{65}", re.DOTALL)


def is_made_up(key: str) -> bool:
    """Whether a key is an id, a date, a path or a text rather than a field's name: its object is a map then."""
    return _ID.search(key) is not None


# Statuses that are about the moment, the key or the account, not about what was asked.
_OF_THE_MOMENT = frozenset({401, 402, 403, 408, 409, 425, 429})


def is_refusal(status: int | None) -> bool:
    """Whether an answer of this status says nothing about how the provider answers: no credit, too busy, broken."""
    return status is None or status in _OF_THE_MOMENT or status >= 500
