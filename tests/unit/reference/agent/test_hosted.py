"""Tools out of a file: what they answer, what is not run, and what a file says wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reference_stack.agent.approval import Allowed, Denied, Rules
from reference_stack.agent.cancel import CancelToken
from reference_stack.agent.failures import TurnCancelledError
from reference_stack.agent.hosted import DEFAULT, HostedServer, hosted
from reference_stack.agent.processes import ProcessManager
from reference_stack.agent.tools import ToolContext, ToolFailedError, ToolTimedOutError

PATH = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
SCHEMA = {"description": "d", "parameters": {"type": "object"}}


def run(
    servers: Mapping[str, HostedServer], label: str, arguments: Mapping[str, Any], name: str = "get_weather"
) -> str:
    return asyncio.run(asyncio.wait_for(called(servers, label, arguments, name, CancelToken()), 120))


async def called(
    servers: Mapping[str, HostedServer], label: str, arguments: Mapping[str, Any], name: str, cancel: CancelToken
) -> str:
    tool = servers[label].registry.plan().find(name)
    assert tool is not None
    return await tool.run(arguments, ToolContext(turn_id="t", call_id="c", cancel=cancel))


def program(tmp_path: Path, *command: str, seconds: float = 10) -> dict[str, HostedServer]:
    """A server `s` with a tool `t` that runs a command."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"s": {"t": {**SCHEMA, "run": {"command": command, "seconds": seconds}}}}))
    return hosted(path, ProcessManager(PATH))


@pytest.fixture
def servers() -> dict[str, HostedServer]:
    return hosted(DEFAULT, ProcessManager(PATH))


def test_a_table_is_looked_up(servers: dict[str, HostedServer]) -> None:
    assert run(servers, "weather", {"city": "Paris"}) == "clear, 21 °C"
    with pytest.raises(ToolFailedError, match="nothing is known of 'Rome'"):
        run(servers, "weather", {"city": "Rome"})
    with pytest.raises(ToolFailedError, match="must be a text"):
        run(servers, "weather", {"city": ["Paris"]})


def test_a_program_is_run(servers: dict[str, HostedServer]) -> None:
    assert run(servers, "station", {"city": "Paris"}) == "Paris: clear, 20.5 °C, measured at the station"
    with pytest.raises(ToolFailedError, match=r"ended with 1: there is no station in --help; true"):
        run(servers, "station", {"city": "--help; true"})


def test_what_is_denied_is_told_by_its_arguments(servers: dict[str, HostedServer]) -> None:
    rules = Rules(servers["archive"].rules, otherwise=Allowed())
    closed = Denied(reason="the archive is closed for Paris")
    assert asyncio.run(rules.decide("get_weather", {"city": "Paris"})) == closed
    assert asyncio.run(rules.decide("get_weather", {"city": "Riga"})) == Allowed()


def test_a_program_is_ended_at_its_deadline(tmp_path: Path) -> None:
    with pytest.raises(ToolTimedOutError, match=r"after 0\.2 s"):
        run(program(tmp_path, "sh", "-c", "sleep 60", seconds=0.2), "s", {}, "t")


def test_a_program_that_there_is_not_fails(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError):
        run(program(tmp_path, "/no/such/program"), "s", {}, "t")


def test_a_cancelled_call_ends_its_program(tmp_path: Path) -> None:
    manager = ProcessManager(PATH)
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"s": {"t": {**SCHEMA, "run": {"command": ["sh", "-c", "sleep 60"], "seconds": 60}}}}))
    servers = hosted(path, manager)

    async def work() -> None:
        cancel = CancelToken()
        asyncio.get_running_loop().call_later(0.2, cancel.cancel, "enough")
        with pytest.raises(TurnCancelledError, match="enough"):
            await called(servers, "s", {}, "t", cancel)
        assert manager.registry == ()

    asyncio.run(asyncio.wait_for(work(), 120))


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"s": []}',
        json.dumps({"s": {"t": SCHEMA}}),
        json.dumps({"s": {"t": {**SCHEMA, "run": {"command": ["x"]}}}}),
        json.dumps({"s": {"t": {"look_up": {"by": "a", "in": {}}}}}),
        json.dumps({"s": {"t": {**SCHEMA, "look_up": {"by": "a", "in": {}}, "deny": [{}]}}}),
    ],
)
def test_a_file_that_is_not_as_described_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"tools\.json cannot be had"):
        hosted(path, ProcessManager(PATH))


def test_a_file_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.json cannot be had"):
        hosted(tmp_path / "none.json", ProcessManager(PATH))
