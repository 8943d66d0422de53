"""A small project with claims, its tests run by a pytest of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackproof.evidence import claims
from stackproof.evidence.claims import ClaimFacts

CLAIMS = """\
version: 1
claims:
  cut:
    invariant: A stream that is cut off never completes a turn
    fault: the connection is lost after the third event
    events: [turn_started, "text_delta*", turn_failed]
    residue: {pending: [], terminal: failed}
    excludes: [what a real provider sends, other transports]
  full:
    invariant: A full mailbox lets the producer wait
    fault: nobody reads
    events: []
    residue: {lost: 0}
    excludes: [fairness]
  elsewhere:
    invariant: i
    fault: f
    events: []
    residue: {a: 1}
    excludes: [e]
    environment: [/no/such/path]
"""

TESTS = """\
import os, time
import pytest

def observe(claim, *events, **residue):
    claim.observed(events=["turn_started", *events], residue={"pending": (), "terminal": "failed", **residue})

@pytest.mark.claim("cut")
@pytest.mark.parametrize("deltas", [0, 2])
def test_cut(claim, deltas):
    observe(claim, *["text_delta"] * deltas, "turn_failed")

@pytest.mark.claim("full")
def test_full(claim):
    for seed in range(3):
        claim.observed(events=(), residue={"lost": 0}, seed=seed)

@pytest.mark.claim("elsewhere")
def test_elsewhere(claim):
    raise AssertionError("it must not run here")
"""


@dataclass(kw_only=True)
class Small:
    """A project in `folder` with a claims file and tests."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pytest in the project, with our plugin and no other."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "stackproof", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=alone(), capture_output=True, text=True, check=False, timeout=120
        )

    def logged(self, *arguments: str) -> ClaimFacts:
        """What a session with our log leaves behind, without what the check adds to it."""
        folder = self.folder / claims.FOLDER
        folder.mkdir(parents=True)
        self.pytest(
            "-p", "stackproof.plugin.claim_log", "--stackproof-claims-file", str(self.folder / "tests/claims.yaml"),
            "--stackproof-claims-folder", str(folder), f"--junitxml={folder / claims.REPORT}", *arguments,
        )  # fmt: skip
        facts = claims.read(self.folder)
        assert facts is not None
        return facts

    def lines(self) -> list[Mapping[str, Any]]:
        """What the log holds."""
        text = (self.folder / claims.FOLDER / claims.OBSERVATIONS).read_text()
        return [json.loads(line) for line in text.splitlines()]


def alone() -> dict[str, str]:
    """Our environment on a laptop, in which pytest loads no plugins by itself: all of this one's take seconds."""
    outside = {name: value for name, value in os.environ.items() if name != "CI"}
    return {**outside, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """A project whose claims hold, one of them on another machine."""
    made = Small(folder=tmp_path)
    made.write("pytest.ini", "[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    made.write("tests/claims.yaml", CLAIMS)
    made.write("tests/test_claims.py", TESTS)
    return made
