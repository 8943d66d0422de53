"""One call of a tool, from what the model wrote to the result that it reads. Whatever goes wrong is a result, too."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_stack.agent.approval import ApprovalPolicy, Denied, denied_text
from reference_stack.agent.events import ToolStatus
from reference_stack.agent.model import ToolCall
from reference_stack.agent.tools import Tool, ToolContext, ToolFailedError, ToolPlan, ToolTimedOutError
from reference_stack.strict_json import read_json

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a call ended, and what the model is told."""

    status: ToolStatus
    output: str


async def result_of(call: ToolCall, plan: ToolPlan, approval: ApprovalPolicy, context: ToolContext) -> Result:
    """Run a call. Raises what the policy raises, and nothing that a tool raises but a cancellation."""
    tool = plan.find(call.name)
    if tool is None:
        known = ", ".join(sorted(plan.tools)) or "(none)"
        return Result(status=ToolStatus.UNKNOWN, output=f"error: there is no tool {call.name!r}, but: {known}")
    try:
        arguments = _arguments(call.arguments)
    except ValueError as error:
        return Result(status=ToolStatus.FAILED, output=f"error: the arguments are no JSON object: {error}")
    decision = await approval.decide(call.name, arguments)
    if isinstance(decision, Denied):
        return Result(status=ToolStatus.DENIED, output=denied_text(decision))
    context.cancel.check()
    return await _run(tool, arguments, context)


async def _run(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> Result:
    try:
        return Result(status=ToolStatus.OK, output=await tool.run(arguments, context))
    except ToolTimedOutError as error:
        return Result(status=ToolStatus.TIMED_OUT, output=f"timed out: {error}")
    except ToolFailedError as error:
        return Result(status=ToolStatus.FAILED, output=f"error: {error}")
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is a result
        context.cancel.check()
        # A fault of the tool itself: the model can go on without its result, and the log says where it is.
        _log.exception("the tool %s failed", tool.spec.name)
        return Result(status=ToolStatus.FAILED, output=f"error: {type(error).__name__}: {error}")


def _arguments(text: str) -> Mapping[str, Any]:
    value = read_json(text)
    if not isinstance(value, dict):
        raise ValueError(f"they are {text[:80]!r}")  # noqa: TRY004 - a text of the wrong kind
    return value
