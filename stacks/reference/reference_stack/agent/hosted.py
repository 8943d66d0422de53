"""The tools that the stack itself has, out of a JSON file: `{server label: {tool: {…}}}`.

A tool has a `description`, the JSON schema of its `parameters`, and one of `look_up` (`{"by": argument, "in": {value:
answer}}`) or `run` (`{"command": […], "seconds": …}`, with `{python}` and `{folder}`, the file's). `deny` lists what is
not to be run: `{"reason": …, "where": {argument: [values]}}`, all of it without `where`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_stack.agent.approval import Denied, Rule
from reference_stack.agent.look_up import LookUp
from reference_stack.agent.model import ToolSpec
from reference_stack.agent.processes import Limits, ProcessManager
from reference_stack.agent.program import Program
from reference_stack.agent.tools import Tool, ToolRegistry

DEFAULT = Path(__file__).parents[1] / "hosted_tools.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedServer:
    """The tools of one label, and what of them is not run."""

    label: str
    registry: ToolRegistry
    rules: tuple[Rule, ...]


def hosted(path: Path, processes: ProcessManager) -> dict[str, HostedServer]:
    """The servers of the file, by label. Raises ValueError, which names the file, where it is not as described."""
    try:
        value = json.loads(path.read_bytes())
        return {label: _server(label, tools, path.parent, processes) for label, tools in value.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"The hosted tools of {path} cannot be had: {type(error).__name__}: {error}") from error


def _server(label: str, tools: Mapping[str, Any], folder: Path, processes: ProcessManager) -> HostedServer:
    registry = ToolRegistry()
    rules: list[Rule] = []
    for name, told in tools.items():
        registry.register(_tool(name, told, folder, processes))
        rules += [_rule(name, denied) for denied in told.get("deny", [])]
    return HostedServer(label=label, registry=registry, rules=tuple(rules))


def _tool(name: str, told: Mapping[str, Any], folder: Path, processes: ProcessManager) -> Tool:
    spec = ToolSpec(name=name, description=told["description"], parameters=told["parameters"])
    if "look_up" in told:
        table = told["look_up"]
        return LookUp(spec=spec, by=table["by"], rows=dict(table["in"]))
    program = told["run"]
    filled = [part.replace("{python}", sys.executable).replace("{folder}", str(folder)) for part in program["command"]]
    limits = Limits(seconds=float(program["seconds"]))
    return Program(spec=spec, processes=processes, command=tuple(filled), limits=limits)


def _rule(name: str, denied: Mapping[str, Any]) -> Rule:
    where: Mapping[str, list[Any]] = denied.get("where", {})

    def applies(arguments: Mapping[str, Any]) -> bool:
        return all(arguments.get(argument) in values for argument, values in where.items())

    return Rule(tool=name, decision=Denied(reason=denied["reason"]), applies=applies)
