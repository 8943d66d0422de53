"""The tools of a request that the gateway runs a turn for: functions of the caller, and what the gateway hosts itself.

A hosted tool is named as one of an MCP server without an address, since its label says which it is:
`{"type": "mcp", "server_label": "weather", "require_approval": "never"}`
(https://platform.openai.com/docs/api-reference/responses/create, `tools`). One with an address is the provider's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_stack.agent.approval import Allowed, Rule, Rules
from reference_stack.agent.hosted import HostedServer
from reference_stack.agent.model import ToolSpec
from reference_stack.agent.tools import Tool, ToolPlan
from reference_stack.answers import RefusedError

_ADDRESSES = ("server_url", "connector_id", "tunnel_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """What a turn may use. labels: of each hosted tool, its server. tool_choice: as the provider is told."""

    plan: ToolPlan
    approval: Rules
    labels: Mapping[str, str]
    tool_choice: Any


def offered(servers: Mapping[str, HostedServer], tools: Any, tool_choice: Any) -> Offered | None:
    """What these tools make a turn of; None where the provider has a part in them, or there are none.

    RefusedError for hosted tools that there are not, or that cannot be had together.
    """
    asked = tools if isinstance(tools, list) else []
    if not asked or not all(isinstance(tool, dict) for tool in asked):
        return None
    ours = [tool for tool in asked if _is_hosted(tool)]
    functions = [tool for tool in asked if tool.get("type") == "function" and isinstance(tool.get("name"), str)]
    if len(ours) + len(functions) < len(asked):
        if not ours:
            return None
        raise _refused("Tools of this stack go together with functions only, and not with tools of the provider.")
    return _together(servers, asked, tool_choice)


def _together(servers: Mapping[str, HostedServer], asked: list[dict[str, Any]], tool_choice: Any) -> Offered:
    specs: list[ToolSpec] = []
    tools: dict[str, Tool] = {}
    labels: dict[str, str] = {}
    rules: list[Rule] = []
    generation = 0
    for tool in asked:
        if not _is_hosted(tool):
            specs.append(_function(tool))
            continue
        server = _server(servers, tool)
        plan = server.registry.plan()
        generation += plan.generation
        rules += server.rules
        for name in _allowed(tool, plan):
            if name in labels:
                raise _refused(f"Two of the hosted tools are called {name!r}.")
            specs.append(plan.tools[name].spec)
            tools[name] = plan.tools[name]
            labels[name] = server.label
    names = [spec.name for spec in specs]
    for name in names:
        if name in labels and names.count(name) > 1:
            raise _refused(f"A function and a hosted tool are both called {name!r}.")
    return Offered(
        plan=ToolPlan(
            generation=generation, tools=tools, specs=tuple(specs), returned=frozenset(names) - frozenset(labels)
        ),
        approval=Rules(rules, otherwise=Allowed()),
        labels=labels,
        tool_choice=_choice(tool_choice),
    )


def _is_hosted(tool: Mapping[str, Any]) -> bool:
    return tool.get("type") == "mcp" and not any(tool.get(name) for name in _ADDRESSES)


def _function(tool: Mapping[str, Any]) -> ToolSpec:
    parameters = tool.get("parameters")
    return ToolSpec(
        name=tool["name"],
        description=str(tool.get("description") or ""),
        parameters=parameters if isinstance(parameters, dict) else {},
        wire=tool,
    )


def _server(servers: Mapping[str, HostedServer], tool: Mapping[str, Any]) -> HostedServer:
    label = tool.get("server_label")
    if not isinstance(label, str) or label not in servers:
        known = ", ".join(sorted(servers)) or "(none)"
        raise _refused(f"There is no hosted server {label!r}, but: {known}. One elsewhere needs its 'server_url'.")
    if tool.get("require_approval") != "never":
        text = "This stack asks nobody before it runs a tool, its own rules decide: 'require_approval' must be 'never'."
        raise _refused(text)
    return servers[label]


def _allowed(tool: Mapping[str, Any], plan: ToolPlan) -> list[str]:
    allowed = tool.get("allowed_tools")
    if isinstance(allowed, dict):
        if set(allowed) - {"tool_names"}:
            raise _refused("Of the filters in 'allowed_tools' there is 'tool_names' only.")
        allowed = allowed.get("tool_names")
    if allowed is None:
        return list(plan.tools)
    unknown = [name for name in allowed if name not in plan.tools] if isinstance(allowed, list) else [allowed]
    if unknown:
        known = ", ".join(plan.tools)
        raise _refused(f"The server {tool['server_label']!r} has no tool {unknown[0]!r}, but: {known}.")
    return list(dict.fromkeys(allowed))


def _choice(choice: Any) -> Any:
    """To the provider, a hosted tool is a function."""
    if not isinstance(choice, dict) or choice.get("type") != "mcp":
        return choice
    return {"type": "function", "name": choice["name"]} if choice.get("name") else "required"


def _refused(text: str) -> RefusedError:
    return RefusedError(400, text, param="tools")
