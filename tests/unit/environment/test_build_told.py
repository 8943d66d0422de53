"""What the recorder, a service and the tests are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.environment.build_cases import CELL, PROJECT, SERVED, SERVICE, SETUP, STACK, Case, run

from stackproof.catalog.records import ModelRole, ProviderSpec
from stackproof.edge.places import Places
from stackproof.environment import build
from stackproof.errors import UsageError
from stackproof.options import RunOptions
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings


@pytest.mark.parametrize(("mode", "offered"), [(Mode.RECORD, True), (Mode.RECORD_IF_MISSING, True), (Mode.LIVE, False)])
def test_who_lacks_a_key_and_wants_recordings_is_told_of_a_model_that_asks_for_none(mode: Mode, offered: bool) -> None:
    with pytest.raises(UsageError) as caught:
        run(Case(cell=replace(CELL, inference_mode=mode), options={}, caller={}))
    assert ("--provider-service llama-cpp" in str(caught.value.hint)) is offered


def test_what_a_run_has_beside_its_stack_is_called_past_a_proxy() -> None:
    built = build(
        cell=SERVED,
        options=RunOptions(),
        project=PROJECT,
        run_id="7f3c2a",
        cell_dir=PROJECT / ".stackproof/runs/7f3c2a/cells/c",
        caller={"HTTPS_PROXY": "http://proxy:3128"},
        base_url=None,
        service_url=None,
        moved={"OPENAI_BASE_URL": "http://172.18.0.1:4001/v1"},
        beside=("postgres", "172.18.0.3"),
        edge=Places(host="edge", main=4000, own={}),
    )
    for values in (built.tests, built.stack):
        assert values["NO_PROXY"] == "localhost,127.0.0.1,postgres,172.18.0.3,172.18.0.1,edge"


@pytest.mark.parametrize(("mode", "wanted"), [(Mode.REPLAY, "false"), (Mode.RECORD, "true")])
def test_a_trace_of_every_call_is_sent_where_calls_go_out_and_not_in_replay(mode: Mode, wanted: str) -> None:
    caller = {"OPENAI_API_KEY": "sk-real-key-abcdefghij", "REGION": "us", "LANGSMITH_TRACING": "true"}
    built = run(Case(cell=replace(CELL, inference_mode=mode), options={}, caller=caller))
    assert built.tests["LANGSMITH_TRACING"] == built.stack["LANGSMITH_TRACING"] == wanted
    asked = run(Case(cell=CELL, options={"env": ("LANGSMITH_TRACING=true",)}, caller=caller))
    assert asked.tests["LANGSMITH_TRACING"] == "true"


def test_recorder_is_told_who_is_called_and_by_whom() -> None:
    caller = {"OPENAI_BASE_URL": "http://10.0.0.7:8000/v1/", "REGION": "us"}
    built = run(Case(cell=SERVED, caller=caller))
    settings = Settings.from_json(built.stack["STACKPROOF_RECORDER"])
    assert [(item.name, item.variable, item.prefixes) for item in settings.providers] == [
        ("openai", "OPENAI_BASE_URL", ("http://10.0.0.7:8000/v1", "http://10.0.0.7:8000")),
        ("search", None, ("https://search.example.com/v2",)),
    ]
    assert settings.secrets == ("OPENAI_API_KEY", "OPTIONAL_TOKEN")
    assert [rule["name"] for rule in settings.rules] == ["floats", "nulls"]
    assert settings.provenance == {
        "stack": "reference",
        "server": "llama.cpp b1",
        "service": "llama-cpp",
        "models": {"m": {"synthetic_weights": True}},
    }
    assert settings.header == "X-Shop"
    assert settings.id_hook == "shop.ids:set_id_override"
    assert settings.stack_url == "http://127.0.0.1:41873"
    assert settings.command == "stackproof run --suite base --setup gpt --stack-config server:reference"


def test_what_no_model_answered_is_recorded_as_synthetic(tmp_path: Path) -> None:
    found = build(
        cell=replace(SERVED, service=replace(SERVICE, synthetic=True)), options=RunOptions(), project=tmp_path,
        run_id="abcdef", cell_dir=Path("cell"), caller={}, base_url=None, service_url="http://127.0.0.1:1/v1",
    )  # fmt: skip
    assert Settings.from_json(found.stack["STACKPROOF_RECORDER"]).provenance["synthetic"] is True


def test_a_service_has_a_url_for_each_provider_that_it_stands_in_for(tmp_path: Path) -> None:
    both = (ProviderSpec(name="a", variable="A_URL"), ProviderSpec(name="b", variable="B_URL"))

    def variables(service_url: str) -> dict[str, str]:
        found = build(
            cell=replace(SERVED, setup=replace(SETUP, providers=both)), options=RunOptions(), project=tmp_path,
            run_id="abcdef", cell_dir=Path("cell"), caller={}, base_url=None, service_url=service_url,
        )  # fmt: skip
        return {name: found.stack[name] for name in ("A_URL", "B_URL")}

    assert variables("http://h:1/for/{provider}/v1") == {"A_URL": "http://h:1/for/a/v1", "B_URL": "http://h:1/for/b/v1"}
    with pytest.raises(UsageError, match="cannot stand in for the 2 providers"):
        variables("http://h:1/v1")


def test_one_service_stands_in_for_several_providers_below_a_name_each(tmp_path: Path) -> None:
    a, b = ProviderSpec(name="a", variable="A_URL"), ProviderSpec(name="b", variable="B_URL")
    env = {"A_URL": "https://a.example/v1", "B_URL": "https://b.example"}
    service = replace(SERVICE, api_path="/v1", for_each="/for/{provider}")

    def variables(*providers: ProviderSpec, model: str = "m") -> dict[str, str | None]:
        setup = replace(SETUP, providers=providers, env=env, models={ModelRole.TEXT: f"a/{model}"})
        cell = replace(SERVED, service=service, setup=setup)
        found = build(
            cell=cell, options=RunOptions(), project=tmp_path, run_id="abcdef", cell_dir=Path("cell"), caller={},
            base_url=None, service_url="http://h:1/v1",
        )  # fmt: skip
        return {provider.name: found.stack.get(str(provider.variable)) for provider in providers}

    # A URL that has no path, as Anthropic's, gets none: its SDK appends the whole of it.
    assert variables(a, b) == {"a": "http://h:1/for/a/v1", "b": "http://h:1/for/b"}
    assert variables(a) == {"a": "http://h:1/v1"}
    assert variables(b) == {"b": "http://h:1"}
    # Whose models it has not, it stands in for under a name too, where it answers for any.
    assert variables(a, model="gpt-4o") == {"a": "http://h:1/for/a/v1"}
    assert variables(b, model="gpt-4o") == {"b": "http://h:1/for/b"}


def test_the_key_that_a_stack_wants_of_its_callers_reaches_the_tests() -> None:
    def tests_and_stack(caller: Mapping[str, str], **stack: Any) -> tuple[Mapping[str, str], Mapping[str, str]]:
        found = run(Case(cell=replace(CELL, stack=replace(STACK, **stack)), caller=caller))
        return found.tests, found.stack

    tests, stack = tests_and_stack({}, client_key="SHOP_KEY", env={"SHOP_KEY": "sk-tests"})
    assert tests["STACKPROOF_CLIENT_KEY_IN"] == "SHOP_KEY"
    assert (tests["SHOP_KEY"], stack["SHOP_KEY"]) == ("sk-tests", "sk-tests")
    tests, stack = tests_and_stack({"SHOP_KEY": "sk-own"}, client_key="SHOP_KEY", env={"SHOP_KEY": "sk-tests"})
    assert (tests["SHOP_KEY"], stack["SHOP_KEY"]) == ("sk-own", "sk-own")
    tests, _ = tests_and_stack({"STACKPROOF_CLIENT_KEY_IN": "HOME"})
    assert "STACKPROOF_CLIENT_KEY_IN" not in tests


def test_caller_is_left_alone() -> None:
    caller = {"PATH": "/bin"}
    run(Case(caller=caller))
    assert caller == {"PATH": "/bin"}
