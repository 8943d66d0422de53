"""Whatever becomes of a call is a result for the model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from reference_stack.agent.approval import AllowAll, Allowed, ApprovalPolicy, Denied, Rule, Rules
from reference_stack.agent.calls import Result, result_of
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.events import ToolStatus
from reference_stack.agent.failures import TurnCancelledError
from reference_stack.agent.model import ToolCall, ToolSpec
from reference_stack.agent.tools import ToolContext, ToolFailedError, ToolRegistry, ToolTimedOutError


@dataclass
class Tool:
    """Does what it was made to do, and notes its arguments."""

    error: Exception | None = None
    ran: list[Mapping[str, Any]] = field(default_factory=list)
    spec: ToolSpec = field(default_factory=lambda: ToolSpec(name="t", description="", parameters={}))

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        self.ran.append(arguments)
        if self.error is not None:
            raise self.error
        return f"{context.call_id}: {arguments}"


def result(
    tool: Tool,
    arguments: str = "{}",
    *,
    name: str = "t",
    approval: ApprovalPolicy | None = None,
    cancelled: bool = False,
) -> Result:
    async def work() -> Result:
        registry = ToolRegistry()
        registry.register(tool)
        cancel = CancelToken()
        if cancelled:
            cancel.cancel("enough")
        call = ToolCall(call_id="c", name=name, arguments=arguments)
        context = ToolContext(turn_id="t", call_id="c", cancel=cancel)
        return await result_of(call, registry.plan(), approval or AllowAll(), context)

    return asyncio.run(asyncio.wait_for(work(), 120))


def test_a_tool_that_does_its_work() -> None:
    assert result(Tool(), '{"a": 1}') == Result(status=ToolStatus.OK, output="c: {'a': 1}")


def test_a_tool_that_there_is_not() -> None:
    tool = Tool()
    assert result(tool, name="u") == Result(status=ToolStatus.UNKNOWN, output="error: there is no tool 'u', but: t")
    assert not tool.ran


@pytest.mark.parametrize("arguments", ["", "{", "[]", "7", "null", '"x"', '{"a": NaN}', "[" * 100_000])
def test_arguments_that_are_no_object(arguments: str) -> None:
    tool = Tool()
    told = result(tool, arguments)
    assert told.status is ToolStatus.FAILED
    assert told.output.startswith("error: the arguments are no JSON object: ")
    assert len(told.output) < 300
    assert not tool.ran


def test_a_call_that_is_denied_does_not_run() -> None:
    tool = Tool()
    rules = Rules(
        [Rule(tool="t", decision=Denied(reason="not today"), applies=lambda a: a.get("a") == 1)], otherwise=Allowed()
    )
    assert result(tool, '{"a": 1}', approval=rules) == Result(status=ToolStatus.DENIED, output="denied: not today")
    assert not tool.ran
    assert result(tool, '{"a": 2}', approval=rules).status is ToolStatus.OK


@pytest.mark.parametrize(
    ("error", "status", "output"),
    [
        (ToolFailedError("no such city"), ToolStatus.FAILED, "error: no such city"),
        (ToolTimedOutError("after 1 s"), ToolStatus.TIMED_OUT, "timed out: after 1 s"),
        (KeyError("x"), ToolStatus.FAILED, "error: KeyError: 'x'"),
    ],
)
def test_a_tool_that_fails(error: Exception, status: ToolStatus, output: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        assert result(Tool(error=error)) == Result(status=status, output=output)


def test_a_fault_of_the_tool_itself_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    result(Tool(error=ZeroDivisionError("x")))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_a_cancelled_turn_runs_nothing_more() -> None:
    tool = Tool()
    with pytest.raises(TurnCancelledError):
        result(tool, cancelled=True)
    assert not tool.ran
