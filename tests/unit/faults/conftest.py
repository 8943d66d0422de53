"""The loopback provider, the recorder around a block, and the HTTP clients of the recorder's own tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def _load(path: Path) -> Any:
    """A module by its path: pytest's import mode makes the folders of tests no packages."""
    name = f"stackproof_faults_{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


_wire_tests = _load(Path(__file__).parents[1] / "recorder_wire" / "conftest.py")
provider, bench, caller, unused_port = (
    _wire_tests.provider,
    _wire_tests.bench,
    _wire_tests.caller,
    _wire_tests.unused_port,
)
