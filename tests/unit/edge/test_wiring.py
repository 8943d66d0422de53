"""The variables of a stack at the edge: what leads to it, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.edge import EdgeSpec, RecorderPlace
from stackproof.catalog.records import ProviderSpec, SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.edge import wiring
from stackproof.edge.places import Places
from stackproof.environment import build
from stackproof.errors import UsageError
from stackproof.options import RunOptions
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import VARIABLE, Settings

PROJECT, HERE = Path("/srv/shop"), Path("stacks.yaml")
CELL = Cell(
    suite=SuiteSpec(name="base", description="d", roots=("t",), default_setup="gpt", source=HERE),
    setup=SetupSpec(
        name="gpt",
        description="d",
        env={"OPENAI_BASE_URL": "https://api.openai.com/v1", "OLLAMA_URL": "http://localhost:11434/v1/"},
        providers=(
            ProviderSpec(name="openai", variable="OPENAI_BASE_URL"),
            ProviderSpec(name="ollama", variable="OLLAMA_URL", origin=True),
            ProviderSpec(name="search", prefixes=("https://search.example.com/v2",)),
        ),
        source=HERE,
    ),
    stack=StackSpec(
        name="gateway",
        description="d",
        folder=PROJECT,
        modes=(StackMode.SERVER,),
        command=("x",),
        under_exec=False,
        recorder=RecorderPlace.EDGE,
        source=HERE,
    ),
    mode=StackMode.SERVER,
    inference_mode=Mode.REPLAY,
    service=None,
    paths=("t",),
)
PLACES = Places(host="127.0.0.1", main=4000, own={"openai": 4001, "ollama": 4002})


def built(cell: Cell = CELL, caller: dict[str, str] | None = None, **more: Any) -> Any:
    return build(
        cell=cell, options=RunOptions(**more), project=PROJECT, run_id="1", cell_dir=Path("c"), caller=caller or {},
        base_url="http://127.0.0.1:5000", service_url=None, edge=PLACES,
    )  # fmt: skip


def test_the_stack_calls_the_edge_and_the_tests_do_not() -> None:
    environment = built()
    assert environment.stack["OPENAI_BASE_URL"] == "http://127.0.0.1:4001/v1"
    assert environment.stack["OLLAMA_URL"] == "http://127.0.0.1:4002/v1"
    assert VARIABLE not in environment.stack, "nothing inside has a use for it"
    assert environment.tests["OPENAI_BASE_URL"] == "https://api.openai.com/v1"
    told = {one.name: one.prefixes for one in Settings.from_json(environment.tests[VARIABLE]).providers}
    assert told["ollama"] == ("http://localhost:11434/v1", "http://localhost:11434")


def test_the_callers_url_is_where_the_edge_calls() -> None:
    environment = built(
        caller={"OLLAMA_URL": "http://gpu.example.com/v1"}, env=("OPENAI_BASE_URL=https://proxy.example.com/o",)
    )
    assert environment.stack["OLLAMA_URL"] == "http://127.0.0.1:4002/v1"
    assert environment.stack["OPENAI_BASE_URL"] == "http://127.0.0.1:4001/o"
    told = {one.name: one.prefixes[0] for one in Settings.from_json(environment.tests[VARIABLE]).providers}
    assert told["openai"] == "https://proxy.example.com/o"
    assert told["ollama"] == "http://gpu.example.com/v1"


def test_further_variables_get_a_provider_by_name() -> None:
    spec = EdgeSpec(variables={"A": "anthropic", "B": "anthropic/v1", "C": "ollama", "D": "search/find"})
    stack = built(replace(CELL, stack=replace(CELL.stack, edge=spec))).stack
    assert {name: stack[name] for name in "ABCD"} == {
        "A": "http://127.0.0.1:4000/anthropic",
        "B": "http://127.0.0.1:4000/anthropic/v1",
        "C": "http://127.0.0.1:4002/v1",
        "D": "http://127.0.0.1:4000/search/find",
    }


def test_a_further_variable_of_nobody_is_refused_with_the_nearest_name() -> None:
    spec = EdgeSpec(variables={"A": "antropic"})
    with pytest.raises(UsageError, match=r"A is led to 'antropic', which is no provider of setup 'gpt'.*'anthropic'"):
        built(replace(CELL, stack=replace(CELL.stack, edge=spec)))


@pytest.mark.parametrize(
    ("value", "to"),
    [
        ("https://api.anthropic.com", "anthropic"),
        ("http://localhost:11434", "ollama"),
        ("127.0.0.1:11434", "ollama"),
        ("api.openai.com/v1", "openai"),
        ("https://search.example.com/v2/x", "search"),
        ("https://me.openai.azure.com", "azure"),
    ],
)
def test_a_variable_that_leads_past_the_edge_is_refused(value: str, to: str) -> None:
    with pytest.raises(UsageError, match=f"SOME_URL=.* leads stack 'gateway' to {to} past the edge") as caught:
        built(caller={"SOME_URL": value})
    assert f"edge: {{variables: {{SOME_URL: {to}}}}}" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "value", ["https://example.com", "localhost", "localhost:5432", "a,b.c", "", "http://", "x://y:z"]
)
def test_other_values_are_nobodys_business(value: str) -> None:
    assert built(caller={"SOME_URL": value}).stack["SOME_URL"] == value


def test_live_has_no_edge() -> None:
    cell = replace(CELL, inference_mode=Mode.LIVE)
    assert not wiring.is_at_edge(cell)
    assert (
        built(cell, caller={"SOME_URL": "https://api.openai.com/v1"}).stack["OLLAMA_URL"]
        == "http://localhost:11434/v1/"
    )
