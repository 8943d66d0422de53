"""The benchmark itself, once: real SDK, real recorder, no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.checks import benchmark
from stackproof.errors import ExitCode
from stackproof.evidence import benchmark as facts_of


def test_twenty_turns_of_each_series_are_measured_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    assert benchmark.run(tmp_path, []) == ExitCode.PASS
    (kept,) = tmp_path.glob(".stackproof/runs/*/checks/benchmark.json")
    facts = facts_of.read(kept)
    assert facts is not None
    assert facts.problem is None
    assert list(facts.lines) == [
        "turns", "turns-streamed", "embeddings", "turns-beside-10", "turns-beside-1000",
    ]  # fmt: skip
    assert {line.samples for line in facts.lines.values()} == {20}
    assert "× floor" in capsys.readouterr().out
    # Its recordings stay temporary.
    assert sorted(path.name for path in tmp_path.iterdir()) == [*before, ".stackproof"]
