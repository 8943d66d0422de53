"""A project with recordings that the recorder itself has made, and the command line in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli import main as cli
from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

URL = "http://localhost:11434/v1"
SUITES = """
root: tests/integration
suites:
  base: {description: d, roots: [tests/integration/base], default_setup: ollama}
  search:
    description: d
    roots: [tests/integration/search]
    default_setup: ollama
    rules: [{name: file_search}]
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as the one object that it is."""
        value = json.loads(self.out)
        assert value["schema"] == 1
        return dict(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Book:
    """The project. `say` runs a command in it."""

    root: Path
    say: Callable[..., Said]

    def brain(self, mode: Mode, run: str, setup: str = "ollama", rules: Sequence[Mapping[str, Any]] = ()) -> Brain:
        """A recorder of the run `run`, as it would be in a cell of it."""
        cell = self.root / ".stackproof/runs" / run / "cells" / f"base-{setup}-server-reference"
        cell.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            mode=mode, recordings=str(self.root / "recordings"), setup=setup, run_dir=str(cell), run_id=run,
            project=str(self.root), suite="base", rules=tuple(rules),
            providers=(Provider(name="ollama", variable="OLLAMA_URL", prefixes=(URL, "http://localhost:11434")),),
            command=f"stackproof run --suite base --setup {setup}",
        )  # fmt: skip
        (cell / "recorder.json").write_text(settings.to_json(), encoding="utf-8")
        return Brain(settings, {})

    def ask(self, brain: Brain, scope: str, body: Any, path: str = "/chat/completions") -> Any:
        """One call within a scope; the decision."""
        raw = b"" if body is None else json.dumps(body).encode()
        method, headers = ("POST" if raw else "GET"), {"content-type": "application/json"}
        test = None if scope == "stack" else scope
        with scopes.use(Scope(name=scope, test_id=test)):
            return brain.ask(Request(method=method, url=URL + path, headers=headers, body=raw))

    def record(
        self, scope: str, *bodies: Any, run: str = "aaaaaa", path: str = "/chat/completions", **more: Any
    ) -> None:
        """Record calls of a scope and put them in place."""
        brain = self.brain(Mode.RECORD, run, **more)
        for body in bodies:
            self._answer(self.ask(brain, scope, body, path), 200, b'{"data": [{"id": "m"}]}' if body is None else None)
        brain.store.promote(Scope(name=scope), replace=True)
        brain.store.promote_models()
        brain.ledger.close()

    @staticmethod
    def _answer(decision: Any, status: int, raw: bytes | None) -> None:
        assert isinstance(decision, Record)
        head = {"content-type": "application/json"}
        decision.take.start(status, head, head)
        decision.take.feed(raw or b'{"answer": 1}')
        decision.take.end()

    def verify(self, scope: str, *asked: tuple[Any, int], run: str = "bbbbbb", **more: Any) -> None:
        """Ask the provider again, as a run in verify does: bodies, and the status that each is answered with."""
        brain = self.brain(Mode.VERIFY, run, **more)
        for body, status in asked:
            self._answer(self.ask(brain, scope, body), status, None)
        brain.ledger.note("tests", {"event": "collected", "nodeids": [scope]})
        brain.ledger.note("tests", {"event": "finished", "exitstatus": 0})
        brain.ledger.close()

    def replay(self, scope: str, *bodies: Any, run: str = "bbbbbb", **more: Any) -> None:
        """Ask as a run in replay does, and leave its journals behind."""
        brain = self.brain(Mode.REPLAY, run, **more)
        for body in bodies:
            self.ask(brain, scope, body)
        brain.ledger.note("tests", {"event": "collected", "nodeids": [scope]})
        brain.ledger.note("tests", {"event": "finished", "exitstatus": 1})
        brain.ledger.close()

    def files(self, setup: str = "ollama") -> list[str]:
        """Paths of recordings, as a person in the project would type them."""
        found = (self.root / "recordings" / setup).rglob("*.json")
        return sorted(path.relative_to(self.root).as_posix() for path in found)


@pytest.fixture
def book(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Book:
    """A fresh project, without recordings."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/suites.yaml").write_text(SUITES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def say(*argv: str, **environ: str) -> Said:
        capsys.readouterr()
        code = cli.main(["recordings", *argv], environ=environ, project=tmp_path)
        told = capsys.readouterr()
        return Said(code=code, out=told.out, err=told.err)

    return Book(root=tmp_path, say=say)
