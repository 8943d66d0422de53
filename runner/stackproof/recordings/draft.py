"""An answer that is being read: what was said, thought, called and counted, collected piece by piece."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# Stands between the texts of several choices.
_CHOICE = "\n— choice {} —\n"


class Wire(StrEnum):
    """The shapes of answers that are taken apart, and the three that are kept as they are."""

    CHAT = "chat completion"
    RESPONSE = "response"
    MESSAGE = "message"
    OLLAMA = "Ollama"
    GEMINI = "Gemini"
    INTERACTION = "interaction"
    VECTORS = "embeddings"
    JSON = "JSON"
    TEXT = "text"
    BINARY = "binary"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call that the model asks for. `arguments` is canonical JSON, or the text itself where it is no JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Vectors:
    """Embeddings: how many, of which lengths (several where they differ), and the values of the first of them.

    `digest` is SHA-256 of all values; `sample` are the numbers of the first vector, empty where they came as base64.
    """

    count: int
    lengths: tuple[int, ...]
    digest: str
    sample: tuple[float, ...] = ()


@dataclass(slots=True, kw_only=True)
class Draft:
    """What has been read of an answer so far."""

    wire: Wire | None = None
    model: str = ""
    error: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    vectors: Vectors | None = None
    unread: list[Any] = field(default_factory=list)  # values that no reader knows
    said: dict[str, list[str]] = field(default_factory=dict)  # by choice
    thought: list[str] = field(default_factory=list)
    calls: dict[str, list[str]] = field(default_factory=dict)  # name, pieces of arguments; by place
    finishes: dict[str, str] = field(default_factory=dict)  # by choice

    @property
    def text(self) -> str:
        """What was said."""
        texts = ["".join(pieces) for _, pieces in sorted(self.said.items(), key=lambda item: (len(item[0]), item[0]))]
        return texts[0] + "".join(_CHOICE.format(i) + text for i, text in enumerate(texts[1:], 2)) if texts else ""

    @property
    def reasoning(self) -> str:
        """What was thought aloud."""
        return "".join(self.thought)

    @property
    def finish(self) -> str:
        """Why it ended."""
        return ", ".join(self.finishes.values())

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls asked for, in their order."""
        return tuple(
            ToolCall(name=name, arguments=_canonical("".join(pieces))) for name, *pieces in self.calls.values()
        )

    def say(self, text: Any, choice: Any = 0) -> None:
        """Add to what was said; a list of parts is joined, a part that is no text is named."""
        if text is not None:
            self.said.setdefault(str(choice), []).append(text_of(text))

    def think(self, text: Any) -> None:
        """Add to what was thought aloud."""
        if isinstance(text, str):
            self.thought.append(text)

    def call(self, place: Any, name: Any, arguments: Any) -> None:
        """Begin a call, or add to the arguments of the one at `place`."""
        entry = self.calls.setdefault(str(place), [""])
        if isinstance(name, str) and name:
            entry[0] = name
        if arguments is not None:
            entry.append(arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True))

    def end(self, reason: Any, choice: Any = 0) -> None:
        """Why a choice ended."""
        if isinstance(reason, str) and reason:
            self.finishes[str(choice)] = reason

    def count(self, usage: Any, path: str = "") -> None:
        """Take in the provider's counts; later ones win."""
        if isinstance(usage, dict):
            for key, value in usage.items():
                self.count(value, f"{path}.{key}" if path else str(key))
        elif path and isinstance(usage, int | float | str) and not isinstance(usage, bool):
            self.usage[path] = usage


def text_of(content: Any) -> str:
    """Content as text: parts are joined, and what is no text is named in brackets."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        for key in ("text", "refusal", "content", "output"):
            if isinstance(content.get(key), str | list):
                return text_of(content[key])
        return f"[{content.get('type') or ', '.join(content)}]"
    return "" if content is None else str(content)


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
