"""What a provider makes up anew for every equal answer, replaced by something that stays.

One table of named rules with paths, used while recording. Ids become a function of the request, so that a recording
made again is the same file; times, durations and cache counts become zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

EPOCH = "1970-01-01T00:00:00Z"
_PREFIX = re.compile(r"[A-Za-z]{1,16}[_-](?=.)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)
_LONG = 12
# Any id that was written by `Ids`, wherever it travels later.
WRITTEN = re.compile(r"(?:[A-Za-z]{1,16}[_-])?rec-[0-9a-f]{12}(?:-\d+-\d+)?")


class Ids:
    """Real id → written id, for one answer. The same real id always gives the same written one.

    `known` are ids that earlier answers of the scope gave: whoever retrieves a response finds it under its own id.
    """

    def __init__(self, request_digest: str, ordinal: int, known: Mapping[str, str] | None = None) -> None:
        self._digest = request_digest[:12]
        self._ordinal = ordinal
        self._known = known or {}
        self._made = 0
        self.written: dict[str, str] = {}

    def completion(self, real: Any) -> Any:
        """Id of a whole completion: `rec-` and twelve digits of the request."""
        return self._write(real, lambda _: f"rec-{self._digest}")

    def other(self, real: Any) -> Any:
        """Any other id: its own prefix, `rec-`, the request's digits, the ordinal and its position in the answer."""
        return self._write(real, lambda prefix: f"{prefix}rec-{self._digest}-{self._ordinal}-{self._made}")

    def echo(self, real: Any) -> Any:
        """An id that the caller sent: written as the caller knows it, else left alone."""
        return self._known.get(real, real) if isinstance(real, str) else real

    def _write(self, real: Any, make: Callable[[str], str]) -> Any:
        if not isinstance(real, str) or not real or WRITTEN.fullmatch(real):
            return real  # once written, an id is data
        if real not in self.written:
            prefix = _prefix_of(real)
            # A provider that counts from 0 in every answer means another thing each time; a long random id does not.
            if real in self._known and len(real) - len(prefix) >= _LONG:
                self.written[real] = self._known[real]
            else:
                self._made += 1
                self.written[real] = make(prefix)
        return self.written[real]


def _prefix_of(real: str) -> str:
    found = None if _UUID.match(real) else _PREFIX.match(real)
    return found.group() if found else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A name for the documentation, the wires it belongs to, and the places it acts on (`[]` is every item)."""

    name: str
    wires: frozenset[str]
    paths: tuple[str, ...]
    act: Callable[[Ids, Any], Any]


def _zero(_: Ids, value: Any) -> Any:
    """Zero; what is null or no number stays."""
    if isinstance(value, dict):
        return {key: _zero(_, item) for key, item in value.items()}
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return 0  # always the integer: a duration that is 12 today and 12.5 tomorrow must not change the file


def _epoch(_: Ids, value: Any) -> Any:
    return EPOCH if isinstance(value, str) else value


CHAT, RESPONSE, RESPONSE_EVENT, MESSAGE, MESSAGE_EVENT, OLLAMA = (
    "chat", "response", "response-event", "message", "message-event", "ollama",
)  # fmt: skip

_ALL_BUT_OLLAMA = frozenset({CHAT, RESPONSE, RESPONSE_EVENT, MESSAGE, MESSAGE_EVENT})

RULES: tuple[Rule, ...] = (
    Rule(name="completion-id", wires=frozenset({CHAT}), paths=("id",), act=Ids.completion),
    Rule(name="completion-created", wires=frozenset({CHAT}), paths=("created",), act=_zero),
    Rule(
        name="tool-call-id",
        wires=frozenset({CHAT}),
        paths=("choices[].message.tool_calls[].id", "choices[].delta.tool_calls[].id"),
        act=Ids.other,
    ),
    Rule(name="llama-cpp-timings", wires=_ALL_BUT_OLLAMA, paths=("timings",), act=_zero),
    Rule(
        name="cached-tokens",
        wires=_ALL_BUT_OLLAMA,
        paths=(
            "usage.prompt_tokens_details.cached_tokens",
            "usage.input_tokens_details.cached_tokens",
            "response.usage.input_tokens_details.cached_tokens",
            "usage.cache_read_input_tokens",
            "message.usage.cache_read_input_tokens",
        ),
        act=_zero,
    ),
    Rule(
        name="response-id",
        wires=frozenset({RESPONSE}),
        paths=("id", "output[].id", "output[].call_id"),
        act=Ids.other,
    ),
    Rule(
        name="response-event-id",
        wires=frozenset({RESPONSE_EVENT}),
        paths=(
            "response.id",
            "response.output[].id",
            "response.output[].call_id",
            "item.id",
            "item.call_id",
            "item_id",
            "response_id",
        ),
        act=Ids.other,
    ),
    Rule(
        name="response-echo",
        wires=frozenset({RESPONSE, RESPONSE_EVENT}),
        paths=("previous_response_id", "response.previous_response_id"),
        act=Ids.echo,
    ),
    Rule(
        name="response-times",
        wires=frozenset({RESPONSE, RESPONSE_EVENT}),
        paths=("created_at", "completed_at", "response.created_at", "response.completed_at"),
        act=_zero,
    ),
    Rule(name="message-id", wires=frozenset({MESSAGE}), paths=("id", "content[].id"), act=Ids.other),
    Rule(
        name="message-event-id",
        wires=frozenset({MESSAGE_EVENT}),
        paths=("message.id", "content_block.id"),
        act=Ids.other,
    ),
    Rule(name="ollama-created-at", wires=frozenset({OLLAMA}), paths=("created_at",), act=_epoch),
    Rule(
        name="ollama-durations",
        wires=frozenset({OLLAMA}),
        paths=("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"),
        act=_zero,
    ),
)
_BY_WIRE = {
    wire: tuple((rule.act, tuple(path.split("."))) for rule in RULES if wire in rule.wires for path in rule.paths)
    for wire in (CHAT, RESPONSE, RESPONSE_EVENT, MESSAGE, MESSAGE_EVENT, OLLAMA)
}


def wire_of(value: Any) -> str | None:  # noqa: PLR0911 - a table of answers
    """Which provider's answer this JSON is, by what it says of itself; None when no rule concerns it."""
    if not isinstance(value, dict):
        return None
    kind, type_ = value.get("object"), value.get("type")
    if kind in ("chat.completion", "chat.completion.chunk", "text_completion"):
        return CHAT
    if kind == "response":
        return RESPONSE
    if type_ == "message" and "role" in value:
        return MESSAGE
    if isinstance(type_, str):
        if type_.startswith("response."):
            return RESPONSE_EVENT
        if type_.startswith(("message_", "content_block_")):
            return MESSAGE_EVENT
    if "done" in value and "model" in value and "created_at" in value:
        return OLLAMA
    return None


def normalise(value: Any, ids: Ids) -> Any:
    """Normalise a decoded answer or event in place, and return it."""
    wire = wire_of(value)
    if wire is not None:
        for act, path in _BY_WIRE[wire]:
            for owner, key in _places(value, path):
                owner[key] = act(ids, owner[key])
    return value


def _places(value: Any, path: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str]]:
    step, rest = path[0], path[1:]
    name = step.removesuffix("[]")
    if not isinstance(value, dict) or name not in value:
        return
    if not rest:
        yield value, name
        return
    below = value[name]
    for item in below if step.endswith("[]") and isinstance(below, list) else (below,):
        yield from _places(item, rest)
