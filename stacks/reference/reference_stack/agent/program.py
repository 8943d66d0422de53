"""A tool that runs a program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from reference_stack.agent.failures import AgentError
from reference_stack.agent.model import ToolSpec
from reference_stack.agent.process_child import Ending
from reference_stack.agent.processes import Limits, ProcessManager
from reference_stack.agent.tools import ToolContext, ToolFailedError, ToolTimedOutError


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """Runs `command` with the call's arguments, as one JSON text, behind it: what is in them never is an option."""

    spec: ToolSpec
    processes: ProcessManager
    command: tuple[str, ...]
    limits: Limits

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """What it printed. Raises ToolFailedError for another exit code than 0, ToolTimedOutError at its deadline."""
        command = (*self.command, json.dumps(arguments))
        try:
            finished = await self.processes.run(command, limits=self.limits, cancel=context.cancel)
        except AgentError as error:
            raise ToolFailedError(str(error)) from error
        output = finished.output.strip()
        match finished.ending:
            case Ending.EXITED if finished.returncode == 0:
                return output
            case Ending.EXITED:
                raise ToolFailedError(f"the program ended with {finished.returncode}: {output}")
            case Ending.TIMED_OUT:
                raise ToolTimedOutError(f"the program was ended after {self.limits.seconds:g} s")
            case Ending.CANCELLED:
                context.cancel.check()
                raise ToolFailedError("the program was ended, since the stack is")
        assert_never(finished.ending)
