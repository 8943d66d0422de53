"""Cells, and what is built of them, for tests of their environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stackproof.catalog.records import ModelRole, ProviderSpec, ServiceSpec, SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.environment import build
from stackproof.options import RunOptions
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode

PROJECT = Path("/srv/shop")


HERE = Path("stacks.yaml")


SETUP = SetupSpec(
    name="gpt",
    description="d",
    env={"OPENAI_BASE_URL": "https://api.openai.com/v1", "REGION": "eu", "OPTIONAL_TOKEN": "EMPTY"},
    models={ModelRole.TEXT: "openai/gpt-4o"},
    embedding_dimension=1536,
    secrets=("OPENAI_API_KEY", "OPTIONAL_TOKEN"),
    needs=("REGION",),
    providers=(
        ProviderSpec(name="openai", variable="OPENAI_BASE_URL", origin=True),
        ProviderSpec(name="search", prefixes=("https://search.example.com/v2",)),
    ),
    rules=({"name": "floats"},),
    source=HERE,
)


STACK = StackSpec(
    name="reference",
    description="d",
    folder=PROJECT / "stacks/reference",
    modes=(StackMode.LIBRARY, StackMode.SERVER),
    python_path=(PROJECT / "stacks/reference",),
    env={"LISTEN": "{host}:{port}", "LOG_LEVEL": "info", "SHAPE": '{"a": {port}}'},
    variables={
        "STACKPROOF_SETUP": "SHOP_SETUP",
        "STACKPROOF_TEXT_MODEL": "SHOP_MODEL",
        "STACKPROOF_DEBUG": "SHOP_DEBUG",
    },
    header="X-Shop",
    id_hook="shop.ids:set_id_override",
    source=HERE,
)


SUITE = SuiteSpec(
    name="base", description="d", roots=("tests/integration/base",), default_setup="gpt", rules=({"name": "nulls"},),
    source=HERE,
)  # fmt: skip


SERVICE = ServiceSpec(
    name="llama-cpp", description="d", folder=HERE, command=("x",), server="llama.cpp b1", source=HERE,
    models={"m": {"synthetic_weights": True}},
)  # fmt: skip


CELL = Cell(
    suite=SUITE, setup=SETUP, stack=STACK, mode=StackMode.SERVER, inference_mode=Mode.REPLAY, service=None,
    paths=SUITE.roots,
)  # fmt: skip


SERVED = replace(CELL, inference_mode=Mode.RECORD, service=SERVICE)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What goes in, and the variables that must (or, where None, must not) come out."""

    cell: Cell = CELL
    options: Mapping[str, Any] = field(default_factory=dict)
    caller: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = "http://127.0.0.1:41873"
    service_url: str | None = None
    tests: Mapping[str, str | None] = field(default_factory=dict)
    stack: Mapping[str, str | None] = field(default_factory=dict)
    placeholders: frozenset[str] | None = None
    shown: Mapping[str, str | None] = field(default_factory=dict)


def both(**values: str | None) -> dict[str, Any]:
    return {"tests": values, "stack": values}


def run(case: Case) -> Any:
    return build(
        cell=case.cell,
        options=RunOptions(**case.options),
        project=PROJECT,
        run_id="7f3c2a",
        cell_dir=PROJECT / ".stackproof/runs/7f3c2a/cells/c",
        caller=case.caller,
        base_url=case.base_url,
        service_url=case.service_url,
    )
