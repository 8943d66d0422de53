"""Who may call what: the first rule that fits decides."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from reference_stack.agent.approval import AllowAll, Allowed, Decision, Denied, Rule, Rules, denied_output

NO_WRITING = Denied(reason="nothing is written here")
UNKNOWN = Denied(reason="nobody said that it may")


def decided(rules: Rules, name: str, arguments: Mapping[str, Any]) -> Decision:
    return asyncio.run(rules.decide(name, arguments))


RULES = Rules(
    [
        Rule(tool="files", decision=NO_WRITING, applies=lambda arguments: arguments.get("mode") == "write"),
        Rule(tool="files", decision=Allowed()),
        Rule(tool=None, decision=Allowed(), applies=lambda arguments: not arguments),
    ],
    otherwise=UNKNOWN,
)


@pytest.mark.parametrize(
    ("name", "arguments", "decision"),
    [
        ("files", {"mode": "write"}, NO_WRITING),
        ("files", {"mode": "read"}, Allowed()),
        ("clock", {}, Allowed()),
        ("clock", {"zone": "UTC"}, UNKNOWN),
    ],
)
def test_the_first_rule_that_fits_the_tool_and_its_arguments_decides(
    name: str, arguments: dict[str, Any], decision: Decision
) -> None:
    assert decided(RULES, name, arguments) == decision


def test_everything_may_run_where_everything_may() -> None:
    assert asyncio.run(AllowAll().decide("rm", {"path": "/"})) == Allowed()


def test_a_denied_call_has_a_result_with_its_id_and_the_reason() -> None:
    assert denied_output("call_1", NO_WRITING) == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": "denied: nothing is written here",
    }
