"""Orders for a Job, and what their manifests say to a reader of YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stackproof.shards.kubernetes import JobOrder, manifest

IMAGE = "registry.example/team/shards@sha256:" + "0123456789abcdef" * 4
Parsed = Callable[..., tuple[dict[str, Any], dict[str, Any] | None]]


@pytest.fixture
def order() -> Callable[..., JobOrder]:
    """An order like most, with what a test wants otherwise."""

    def make(**more: Any) -> JobOrder:
        given: dict[str, Any] = {
            "title": "lane server",
            "command": ("lane", "run", "server"),
            "shards": 8,
            "image": IMAGE,
            "claim": "evidence",
            "sealed": True,
        }
        return JobOrder(**{**given, **more})

    return make


@pytest.fixture
def parsed(order: Callable[..., JobOrder]) -> Parsed:
    """The Job of an order, and its NetworkPolicy where there is one."""

    def make(**more: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
        found = {each["kind"]: each for each in yaml.safe_load_all(manifest(order(**more))) if each}
        assert set(found) <= {"Job", "NetworkPolicy"}
        return found["Job"], found.get("NetworkPolicy")

    return make
