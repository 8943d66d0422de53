"""The small project of the recorder's tests, and the larger one of the runs' tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_E2E = Path(__file__).parents[1]


def _load(path: Path) -> Any:
    """A module by its path: pytest's import mode makes the folders of tests no packages."""
    name = f"stackproof_faults_e2e_{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


_recorder = _load(_E2E / "recorder" / "conftest.py")
probe, project, nothing_stays = _recorder.probe, _recorder.project, _recorder.nothing_stays
# A real edge, the provider that it was recorded from, and HTTP clients.
_edge = _load(_E2E / "edge" / "conftest.py")
edges, bench, provider, make_caller, unused_port = (
    _edge.edges,
    _edge.bench,
    _edge.provider,
    _edge.make_caller,
    _edge.unused_port,
)
