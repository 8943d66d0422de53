"""The recorder's own loopback provider and bench, and what SDKs need to work without a network."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent


def _load(path: Path) -> Any:
    """A module by its path: pytest's import mode makes the folders of tests no packages."""
    name = f"stackproof_sdk_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


_wire_tests = _load(_HERE.parents[1] / "unit" / "recorder_wire" / "conftest.py")
provider, bench = _wire_tests.provider, _wire_tests.bench


@pytest.fixture
def wires() -> Any:
    """What providers answer, by path."""
    return _load(_HERE / "wires.py")


@pytest.fixture
def clients() -> Any:
    """A function for each row of the table of SDKs."""
    return _load(_HERE / "clients.py")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
