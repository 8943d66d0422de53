"""What a setup needs beside keys: other ways to sign in, credentials for replay, a tenant's name inside a URL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.catalog.records import ProviderSpec, SetupSpec, StackMode, StackSpec, SuiteSpec
from stackproof.environment import PLACEHOLDER, Environment, build, missing
from stackproof.options import RunOptions
from stackproof.plan import Cell
from stackproof.recorder.mode import Mode
from stackproof.recorder.settings import Settings

PROJECT = Path("/srv/shop")
SETUP = SetupSpec(
    name="cloud",
    description="d",
    env={"CLOUD_URL": "https://cloud.example.com", "CLOUD_PROJECT": "your-project"},
    secrets=("CLOUD_KEY",),
    optional_secrets=("CLOUD_SIGNING_KEY",),
    replay={"CLOUD_CREDENTIALS_FILE": "{folder}/placeholders/cloud.json"},
    providers=(ProviderSpec(name="cloud", variable="CLOUD_URL", prefixes=("{CLOUD_URL}/projects/{CLOUD_PROJECT}",)),),
    source=PROJECT / "stacks/setups.yaml",
)
SUITE = SuiteSpec(name="base", description="d", roots=("tests",), default_setup="cloud", source=PROJECT)
STACK = StackSpec(name="s", description="d", folder=PROJECT, modes=(StackMode.SERVER,), source=PROJECT)
CELL = Cell(
    suite=SUITE, setup=SETUP, stack=STACK, mode=StackMode.SERVER, inference_mode=Mode.REPLAY, service=None,
    paths=("tests",),
)  # fmt: skip
RECORD = replace(CELL, inference_mode=Mode.RECORD)


def run(cell: Cell = CELL, **caller: str) -> Environment:
    return build(
        cell=cell,
        options=RunOptions(),
        project=PROJECT,
        run_id="7f3c2a",
        cell_dir=PROJECT / "c",
        caller=caller,
        base_url=None,
        service_url=None,
    )


def settings(built: Environment) -> Settings:
    return Settings.from_json(built.stack["STACKPROOF_RECORDER"])


def test_nobody_is_asked_for_another_way_to_sign_in() -> None:
    assert missing(RECORD, RunOptions(), {"CLOUD_KEY": "k"}) == ()
    assert "CLOUD_SIGNING_KEY" not in run(RECORD, CLOUD_KEY="k").tests


def test_the_recorder_searches_files_for_every_way_to_sign_in() -> None:
    assert settings(run()).secrets == ("CLOUD_KEY", "CLOUD_SIGNING_KEY")


def test_replay_gives_placeholders_for_every_way_to_sign_in() -> None:
    built = run()
    assert built.tests["CLOUD_KEY"] == built.tests["CLOUD_SIGNING_KEY"] == PLACEHOLDER
    assert built.placeholders == {"CLOUD_KEY", "CLOUD_SIGNING_KEY"}


def test_what_only_replay_needs_is_given_in_replay_only_and_yields_to_the_caller() -> None:
    assert run().stack["CLOUD_CREDENTIALS_FILE"] == "/srv/shop/stacks/placeholders/cloud.json"
    assert run(CLOUD_CREDENTIALS_FILE="/home/me/c.json").stack["CLOUD_CREDENTIALS_FILE"] == "/home/me/c.json"
    assert "CLOUD_CREDENTIALS_FILE" not in run(RECORD, CLOUD_KEY="k").stack


@pytest.mark.parametrize(
    ("caller", "prefixes"),
    [
        ({}, ("https://cloud.example.com", "https://cloud.example.com/projects/your-project")),
        (
            {"CLOUD_URL": "http://gateway:80/", "CLOUD_PROJECT": "shop-7"},
            ("http://gateway:80", "http://gateway:80/projects/shop-7"),
        ),
        ({"CLOUD_URL": "gateway"}, ("https://gateway", "https://gateway/projects/your-project")),
    ],
    ids=["defaults", "the caller's", "a bare host"],
)
def test_a_tenants_name_is_part_of_the_prefix(caller: dict[str, Any], prefixes: tuple[str, ...]) -> None:
    (provider,) = settings(run(**caller)).providers
    assert provider.prefixes == prefixes


def test_a_prefix_without_its_value_matches_nothing() -> None:
    bare = replace(SETUP, env={"CLOUD_URL": "https://cloud.example.com", "CLOUD_PROJECT": ""})
    (provider,) = settings(run(replace(CELL, setup=bare))).providers
    assert provider.prefixes == ("https://cloud.example.com",)
