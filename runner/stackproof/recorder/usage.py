"""How many tokens an answer says it has used, in the words of each wire.

Read before anything is normalised, since counts of cached tokens become zero then. In a stream a later word on the same
figure replaces an earlier one: all wires count up. Sources: the API references of OpenAI (`usage` of completions,
embeddings, responses and images), Anthropic (`message_start`, `message_delta`), Google (`usageMetadata`; `usage` of an
interaction), Ollama (`prompt_eval_count`, `eval_count`), Cohere (`meta`, `usage`), Amazon Bedrock (`usage`), and of
rerankers that tell a total only (Jina, Voyage).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_INPUT = (
    "prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "inputTokens", "inputTokenCount",
    "inputTextTokenCount", "total_input_tokens",
)  # fmt: skip
# Beside the input, not in it.
_MORE_INPUT = (
    "cache_creation_input_tokens", "cache_read_input_tokens", "toolUsePromptTokenCount", "cacheReadInputTokens",
    "cacheWriteInputTokens", "total_tool_use_tokens",
)  # fmt: skip
_OUTPUT = (
    "completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count", "outputTokens", "outputTokenCount",
    "total_output_tokens",
)  # fmt: skip
_MORE_OUTPUT = ("thoughtsTokenCount", "total_thought_tokens")
_TOTAL = ("total_tokens", "totalTokenCount", "totalTokens")
_NAMES = frozenset((*_INPUT, *_MORE_INPUT, *_OUTPUT, *_MORE_OUTPUT, *_TOTAL))
# Where the figures stand: in these, or in a `usage` in these.
_AROUND = ("response", "message", "delta", "interaction", "x_groq", "metadata")
# Cohere bills other numbers than it counts; where it tells both, what it counts is meant.
_COUNTED, _BILLED = "tokens", "billed_units"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """What one answer has used."""

    input: int
    output: int


class Usage:
    """Shown every JSON value of one answer, in the order in which they came."""

    def __init__(self) -> None:
        self._figures: dict[str, int] = {}

    def see(self, value: Any) -> None:
        """A whole JSON body, or the data of one event."""
        if isinstance(value, list):  # Google's streams without server-sent events
            for item in value:
                self.see(item)
        elif isinstance(value, dict):
            for figures in _places(value):
                self._take(figures)

    def _take(self, figures: Mapping[str, Any]) -> None:
        for name in _NAMES.intersection(figures):
            number = figures[name]
            if isinstance(number, int | float) and not isinstance(number, bool) and number >= 0:
                self._figures[name] = int(number)

    @property
    def tokens(self) -> Tokens | None:
        """None where the answer did not say."""
        if not self._figures:
            return None
        into = self._first(_INPUT)
        out = self._first(_OUTPUT)
        total = self._first(_TOTAL)
        given = None if into is None else into + self._sum(_MORE_INPUT)
        made = None if out is None else out + self._sum(_MORE_OUTPUT)
        if given is None:
            given = max(0, (total or 0) - (made or 0))
        return Tokens(input=given, output=made if made is not None else max(0, (total or 0) - given))

    def _first(self, names: tuple[str, ...]) -> int | None:
        return next((self._figures[name] for name in names if name in self._figures), None)

    def _sum(self, names: tuple[str, ...]) -> int:
        return sum(self._figures.get(name, 0) for name in names)


def _places(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Whatever in an answer holds such figures."""
    if "eval_count" in value or "prompt_eval_count" in value or "inputTextTokenCount" in value:
        yield value
    for name in ("usage", "usageMetadata", "amazon-bedrock-invocationMetrics", "meta"):
        if isinstance(found := value.get(name), dict):
            yield from _counted(found)
    for name in _AROUND:
        if isinstance(found := value.get(name), dict):
            yield from _places(found)


def _counted(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    inner = found.get(_COUNTED, found.get(_BILLED))
    yield inner if isinstance(inner, dict) else found
