"""Connections that no transport announced, told while recording."""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.recorder import scope
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope

if TYPE_CHECKING:
    from tests.unit.recorder_wire.conftest import Bench, LoopbackProvider
from tests.unit.recorder_wire.guard_ways import by_socket


def test_in_record_a_connection_that_no_transport_announced_is_reported(bench: Bench) -> None:
    with bench.record() as brain:
        by_socket("127.0.0.1", bench.provider.port)
        with pytest.raises(OSError):  # noqa: PT011 - whatever a machine without a network says
            socket.getaddrinfo("provider.invalid", 443)
        calls, _ = brain.ledger.read("calls")
    assert [(call["kind"], call["host"], call["port"]) for call in calls] == [
        ("unseen", "127.0.0.1", bench.provider.port),
        ("unseen", "provider.invalid", None),
    ]


def test_in_record_the_stacks_own_address_is_not_reported_wherever_it_is(bench: Bench) -> None:
    from stackproof.recorder import install

    settings = replace(bench.settings(Mode.RECORD), stack_url="http://192.0.2.7:8321")
    with install.installed(settings, {}) as brain:
        for port in (8321, 8322):
            sys.audit("socket.connect", None, ("192.0.2.7", port))
        calls, _ = brain.ledger.read("calls")
    assert [(call["kind"], call["port"]) for call in calls] == [("unseen", 8322)]


def test_in_record_a_call_through_a_transport_is_not_reported(
    bench: Bench, provider: LoopbackProvider, library: Any
) -> None:
    from stackproof.recorder.settings import Provider

    async def ask(url: str) -> None:
        async with library.AsyncClient(trust_env=False, timeout=60) as client:
            await client.get(url)

    settings = bench.settings(Mode.RECORD)
    from stackproof.recorder import install

    named = Provider(name="named", prefixes=("http://provider.invalid:81/v1",))
    with install.installed(replace(settings, providers=(*settings.providers, named)), {}) as brain:
        with scope.use(Scope(name="tests/a.py::t", test_id="tests/a.py::t")):
            with pytest.raises(library.ConnectError):
                asyncio.run(ask("http://provider.invalid:81/v1/x"))
            with pytest.raises(library.ConnectError):
                library.get("http://provider.invalid:81/v1/x", trust_env=False)
            asyncio.run(ask(f"{provider.url}/x"))
        calls, _ = brain.ledger.read("calls")
    assert [call["kind"] for call in calls] == ["dropped", "dropped", "recorded"]
