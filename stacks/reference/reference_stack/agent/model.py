"""What is asked of a model, what comes back, and who asks it.

Items are those of OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses/create, `input`):
messages, `function_call` and `function_call_output`, as JSON values.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from reference_stack.agent.cancel import CancelToken

Item = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it. `parameters`: the JSON schema of its arguments.

    `wire` is the tool in the API's own form, where whoever offers it wrote it down so; it is sent as it is then.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    wire: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """One step of a turn.

    `step` counts the turn's requests from 0, `tool_generation` is that of the plan the turn runs with. `options` are
    further fields of the request as the API names them (`temperature`, `tool_choice`, …).
    """

    model: str
    instructions: str | None
    history: tuple[Item, ...]
    tools: tuple[ToolSpec, ...]
    step: int
    tool_generation: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """A piece of the message that is being written."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A whole message. `items`: as for `ToolCall`."""

    type: ClassVar[str] = "message"
    text: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The model wants a tool. `arguments` is the text it wrote, which need not be JSON.

    `items` are what the provider wants to read again, where it sent more than this: its own form of the item, after
    what it thought before (`reasoning`).
    """

    type: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    arguments: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """The answer is whole: the last event of every stream that ended well. `usage`: the API's object, if sent."""

    type: ClassVar[str] = "completed"
    response_id: str
    usage: Mapping[str, Any] | None = None


ModelEvent = TextDelta | Message | ToolCall | Completed


class ModelClient(Protocol):
    """Who asks a model."""

    def stream(self, request: ModelRequest, cancel: CancelToken) -> AsyncIterator[ModelEvent]:
        """The answer's events; the last one is `Completed`, and nothing follows it.

        Whoever stops early closes the iterator (`aclose`, where it has one), which ends the connection; so does a
        cancelled task. Raises a ModelError where no `Completed` comes, and TurnCancelledError at the first event after
        a cancellation.
        """
        ...
