"""A cell with recordings, and what was observed beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli.main import main
from stackproof.drift import cell, telling
from stackproof.evidence import drift
from stackproof.evidence.drift import DriftFacts
from stackproof.recorder import recording
from stackproof.recorder.identity import digest
from stackproof.recorder.miss import form_of
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings

Recording = dict[str, Any]


TEST = "tests/integration/base/test_chat.py::test_one"


RECORD = f"stackproof run -x --file {TEST} --inference-mode record"


SECRET = "sk-0123456789abcdefghij0123"


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a command printed, and its exit code."""

    code: int
    out: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """A project with recordings, and a cell of a run that observed calls."""

    root: Path
    cell: Path
    print_out: Callable[[], str]

    def record(self, content: Recording, *, scope: str = TEST, ordinal: int = 1, at: int = 0) -> Path:
        """Lay down a recording."""
        placed = {**content, "scope": scope, "test_id": scope}
        placed["provenance"] = {**content["provenance"], "recorded_at": f"2026-01-01T00:00:{at:02d}+00:00"}
        return self._put(self.root / "recordings/gpt/base", placed, ordinal)

    def observe(self, content: Recording, *, scope: str = TEST, ordinal: int = 1, attempt: str = "1") -> Path:
        """Lay down what was observed, in the order of the calls."""
        placed = {**content, "scope": scope, "test_id": scope}
        folder = self.cell / "observed" / Scope(name=scope).digest[:12] / attempt
        path = self._put(folder, placed, ordinal)
        with (self.cell / "calls.jsonl").open("a") as file:
            file.write(json.dumps({"kind": "observed", "scope": scope, "file": str(path)}) + "\n")
        return path

    @staticmethod
    def _put(folder: Path, content: Recording, ordinal: int) -> Path:
        request = digest(form_of(content["request"]))[:20]
        suffix = "" if ordinal == 1 else f"-{ordinal}"
        path = folder / f"{Scope(name=content['scope']).digest[:12]}-{request}{suffix}.json"
        recording.write(str(path), content)
        return path

    def ran(self, *tests: str, outcome: str = "passed") -> None:
        """Say how tests ended."""
        with (self.cell / "tests.jsonl").open("a") as file:
            for test in tests or (TEST,):
                facts = {
                    "nodeid": test,
                    "outcome": outcome,
                    "duration": 0.1,
                    "reason": None,
                    "text": None,
                    "attempt": 1,
                }
                file.write(json.dumps({"event": "test", **facts}) + "\n")

    @property
    def content(self) -> dict[str, Any]:
        """What `drift.json` would hold."""
        found = cell.write(
            self.cell, self.root, {"OPENAI_API_KEY": SECRET}, root=self.root / "recordings", command="stackproof run -x"
        )
        assert found is not None
        assert json.loads((self.cell / "drift.json").read_text()) == found
        return found

    @property
    def facts(self) -> DriftFacts:
        """The same as it is read."""
        found = drift.of(self.content)
        assert found is not None
        return found

    @property
    def lines(self) -> list[str]:
        """What a person sees."""
        return list(telling.lines(self.facts, more="stackproof drift abc --all"))

    def say(self, *words: str) -> Told:
        """`stackproof drift …`."""
        code = main(["drift", *words], environ={}, project=self.root)
        return Told(code=code, out=self.print_out())


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    folder = tmp_path / ".stackproof/runs/abcdef/cells/base-gpt-library-reference"
    folder.mkdir(parents=True)
    (tmp_path / "recordings/gpt/base").mkdir(parents=True)
    settings = Settings(
        mode=Mode.VERIFY, recordings=str(tmp_path / "recordings"), setup="gpt", run_dir=str(folder), run_id="abcdef",
        project=str(tmp_path), suite="base", secrets=("OPENAI_API_KEY",), provenance={"stack": "reference"},
    )  # fmt: skip
    (folder / "recorder.json").write_text(settings.to_json())
    return Desk(root=tmp_path, cell=folder, print_out=lambda: capsys.readouterr().out)
