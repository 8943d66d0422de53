"""Every setup means something: its variables make its provider's SDK call what the provider has, and that replays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.catalog import catalog

if TYPE_CHECKING:
    from tests.e2e.setups.calls import Call
    from tests.e2e.setups.conftest import Bench

# SDKs warn about themselves and each other; none of that is ours to fix.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
SETUPS = catalog.load(Path(__file__).parents[3]).setups
MINTED = {"access_token": "minted", "token_type": "Bearer", "expires_in": 3600}


@pytest.mark.parametrize("name", SETUPS)
def test_every_setup_has_a_call(calls: tuple[Call, ...], name: str) -> None:
    assert any(call.setup == name for call in calls), f"setup {name} has no call in calls.py"


def test_a_setups_call_reaches_its_provider_and_replays(call: Call, bench: Bench, tools: Mapping[str, Any]) -> None:
    setup, provider, tokens = SETUPS[call.setup], bench.provider, bench.tokens
    provider.answer = lambda asked: MINTED if asked.path == "/identity/token" else call.content
    tokens.answer = lambda _: MINTED
    secrets = {name: f"a-secret-of-{name.lower()}" for name in setup.secrets}
    trust = provider.secure(bench.folder) if call.tls else {}
    caller = {**secrets, **trust, **call.caller, **bench.urls(setup, provider.url)}
    if "GOOGLE_APPLICATION_CREDENTIALS" in setup.replay:
        caller["GOOGLE_APPLICATION_CREDENTIALS"] = tools["service_account"](bench.folder, f"{tokens.url}/token")

    with bench.run(setup, "live", caller) as (variables, _):
        call.make(variables)
    with bench.run(setup, "record", caller) as (variables, _):
        recorded = call.make(variables)

    sent = [asked for asked in provider.asked if asked.path != "/identity/token"]
    assert len(sent) == 2, "each call goes out once"
    assert len(tokens.asked) + len(provider.asked) - len(sent) == (2 if call.mints else 0)
    for asked in sent:
        assert (asked.path, asked.query) == (call.path, call.query)
        allowed = {name: value.format_map(variables) for name, value in call.auth.items()}
        assert not allowed or allowed.items() & asked.headers.items()
        if call.signed is not None:
            tools["check_signature"](
                asked,
                key=call.caller["AWS_ACCESS_KEY_ID"],
                secret=call.caller["AWS_SECRET_ACCESS_KEY"],
                region="us-east-1",
                service=call.signed,
            )
    (file,) = bench.files()
    text = file.read_text(encoding="utf-8")
    kept = json.loads(text)
    assert kept["request"]["provider"] == setup.providers[0].name
    assert kept["request"]["url"] == call.url
    for word in (*secrets.values(), *call.caller.values(), "minted", provider.url, "127.0.0.1"):
        assert word not in text

    bench.stop()
    # Somebody who has nothing: the setup's own URLs, no key. And somebody whose provider is elsewhere.
    for somebody in ({}, bench.urls(setup, "https://gateway.example.com")):
        with bench.run(setup, "replay", somebody) as (variables, brain):
            assert tools["plain"](call.make(variables)) == tools["plain"](recorded)
            assert [told["kind"] for told in brain.ledger.read("calls")[0]] == ["replayed"]
            assert brain.ledger.read("misses")[0] == []
