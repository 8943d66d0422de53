"""The conversations of the matrix: what the user says, what the model answers, and which tools there are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reference_stack.agent.approval import AllowAll, ApprovalPolicy, Denied, Rule, Rules
from reference_stack.agent.approval import Allowed as Yes
from reference_stack.agent.items import user_message
from reference_stack.agent.model import Item, ToolSpec
from reference_stack.agent.processes import Limits, ProcessManager
from reference_stack.agent.program import Program
from reference_stack.agent.tools import Tool, ToolContext, ToolRegistry
from stackproof.trace.events import Completed, Message, ModelEvent, TextDelta, ToolCall

Step = tuple[ModelEvent, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """One turn. `script`: the model's answers, one for each request. `before`: what the session had already."""

    name: str
    says: str
    script: tuple[Step, ...]
    before: tuple[Item, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """What the user brings."""
        return (user_message(self.says),)


@dataclass(kw_only=True, slots=True)
class Weather:
    """A tool that gives way several times, and counts how often it was called and how often it is at it."""

    spec: ToolSpec = field(default_factory=lambda: spec("weather", "The weather in a city", "city"))
    answer: str = "sunny"
    begun: list[str] = field(default_factory=list)
    running: int = 0

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """The answer, after a while."""
        self.begun.append(context.call_id)
        self.running += 1
        try:
            for _ in range(3):
                await asyncio.sleep(0)
                context.cancel.check()
            return f"{self.answer} in {arguments['city']}"
        finally:
            self.running -= 1


def spec(name: str, description: str, argument: str) -> ToolSpec:
    """A tool with one argument, which is a text."""
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return ToolSpec(name=name, description=description, parameters=parameters)


def program(processes: ProcessManager, script: str, limits: Limits) -> Program:
    """A tool that runs a script of the shell."""
    return Program(
        spec=spec("report", "Write a report", "about"), processes=processes, command=("sh", "-c", script), limits=limits
    )


def registry(*tools: Tool) -> ToolRegistry:
    """These tools."""
    made = ToolRegistry()
    for tool in tools:
        made.register(tool)
    return made


def call(call_id: str, name: str, arguments: str) -> ToolCall:
    """A call as the model makes it."""
    return ToolCall(call_id=call_id, name=name, arguments=arguments)


def spoken(*pieces: str) -> Step:
    """A message, piece by piece and then as a whole, that ends the answer."""
    return (*(TextDelta(text=piece) for piece in pieces), Message(text="".join(pieces)), _completed(len(pieces)))


def called(*calls: ToolCall, saying: Sequence[str] = ()) -> Step:
    """An answer that wants tools."""
    message = (Message(text="".join(saying)),) if saying else ()
    return (*(TextDelta(text=piece) for piece in saying), *message, *calls, _completed(len(calls)))


def _completed(tokens: int) -> Completed:
    return Completed(response_id="resp_1", usage={"output_tokens": tokens})


TWO_CALLS = Conversation(
    name="two-calls",
    says="What is the weather in Rome and in Oslo?",
    script=(
        called(
            call("call_1", "weather", '{"city": "Rome"}'),
            call("call_2", "weather", '{"city": "Oslo"}'),
            saying=("Let me ", "look."),
        ),
        spoken("Sunny ", "in ", "both."),
    ),
)
DENIED = Conversation(
    name="denied",
    says="Remove the weather in Rome.",
    script=(called(call("call_1", "weather", '{"city": "Rome"}')), spoken("I ", "may not.")),
)
TIMED_OUT = Conversation(
    name="timed-out",
    says="Write a report about rivers.",
    script=(called(call("call_1", "report", '{"about": "rivers"}')), spoken("It ", "took too long.")),
)
BROKEN_OFF: tuple[Item, ...] = (
    user_message("What is the weather in Rome?"),
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Rome"}'},
)
RESUMED = Conversation(
    name="resumed",
    says="Are you still there?",
    script=(spoken("Yes, ", "but that call ", "was aborted."),),
    before=BROKEN_OFF,
)
LONG = Conversation(name="long", says="Count.", script=(spoken(*(f"{number} " for number in range(1, 21))),))
EVERY = (TWO_CALLS, DENIED, TIMED_OUT, RESUMED, LONG)

NO_REMOVING = Denied(reason="nothing is removed here")
SECONDS = 1.0  # enough for a program to start others on a machine with much to do


def approval_of(conversation: Conversation) -> ApprovalPolicy:
    """Who decides in it."""
    if conversation is DENIED:
        return Rules([Rule(tool="weather", decision=NO_REMOVING)], otherwise=Yes())
    return AllowAll()


def tools_of(conversation: Conversation, processes: ProcessManager) -> ToolRegistry:
    """The tools that the model is told of in it."""
    if conversation is TIMED_OUT:
        return registry(program(processes, "exec sleep 60", Limits(seconds=SECONDS, grace=0.1)))
    return registry(Weather())
