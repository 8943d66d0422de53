"""A recorder in a folder of its own, and a provider that is only played."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.recorder import scope as scopes
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Decision, Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

URL = "http://localhost:11434/v1"
TEST = "tests/integration/base/test_chat.py::test_it"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@dataclass(kw_only=True)
class Bench:
    """Brains that share one project, and what a transport would do with their decisions."""

    settings: Settings
    environ: Mapping[str, str]
    brains: list[Brain]

    @property
    def recordings(self) -> Path:
        """The setup's folder."""
        return Path(self.settings.recordings) / self.settings.setup

    @property
    def run_dir(self) -> Path:
        """The folder of this run."""
        return Path(self.settings.run_dir)

    def brain(self, mode: Mode, *, run: str = "", **changed: Any) -> Brain:
        """Another process of the run; `run` makes it one of another run."""
        run_dir = self.settings.run_dir + run
        made = Brain(replace(self.settings, mode=mode, run_dir=run_dir, **changed), self.environ)
        self.brains.append(made)
        return made

    def owner(self, name: str = TEST, **more: Any) -> Scope:
        """The scope of a test."""
        return Scope(name=name, test_id=None if name.startswith("fixture:") else name, **more)

    def request(self, body: Any = None, path: str = "/chat/completions", **more: Any) -> Request:
        """A call to the provider; GET where there is no body."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "user-agent": "sdk/1"}
        told: dict[str, Any] = {"method": "POST" if raw else "GET", "url": URL + path, "headers": headers, "body": raw}
        return Request(**{**told, **more})

    def ask(self, brain: Brain, request: Request, owner: Scope | None = None) -> Decision:
        """Ask within a test."""
        with scopes.use(owner if owner is not None else self.owner()):
            return brain.ask(request)

    def play(self, decision: Decision, answer: Any, status: int = 200, **headers: str) -> bytes:
        """What the provider answers to a call that is recorded; what the caller gets."""
        assert isinstance(decision, Record)
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        names = {"content-type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
        decision.take.start(status, names, names)
        return b"".join([*decision.take.feed(raw), *decision.take.end()])

    def body(self, decision: Decision) -> bytes:
        """The body of an answer that needed no network."""
        assert isinstance(decision, Answer)
        return b"".join(decision.chunks)

    def refusal(self, decision: Decision) -> tuple[str, str]:
        """Kind and text of a miss, checked for what every SDK and server needs of it."""
        assert isinstance(decision, Answer)
        assert decision.status == 424
        assert decision.headers["x-should-retry"] == "false"
        told = json.loads(self.body(decision))
        assert told["message"] == told["error"]["message"]
        return told["error"]["code"].removeprefix("recording_"), told["message"]

    def record(
        self, *pairs: tuple[Any, Any], owner: Scope | None = None, replace_set: bool = True, **more: Any
    ) -> None:
        """Record requests and their answers in a run of their own, as a passing test does."""
        brain = self.brain(Mode.RECORD, run=f"-{len(self.brains)}")
        for body, answer in pairs:
            self.play(self.ask(brain, self.request(body, **more), owner), answer)
        brain.store.promote(owner if owner is not None else self.owner(), replace=replace_set)
        brain.store.promote_models()

    def files(self, folder: str = "base") -> list[str]:
        """Names of the recordings in a folder."""
        place = self.recordings / folder
        return sorted(path.name for path in place.iterdir()) if place.is_dir() else []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A recorder with one provider, in an empty project."""
    settings = Settings(
        mode=Mode.REPLAY,
        recordings=str(tmp_path / "recordings"),
        setup="ollama",
        run_dir=str(tmp_path / "run"),
        run_id="0a1b2c",
        providers=(Provider(name="ollama", variable="OLLAMA_URL", prefixes=(URL, "http://localhost:11434")),),
        secrets=("SOME_KEY",),
        command="nox -s integration -- --setup ollama",
    )
    made = Bench(settings=settings, environ={"SOME_KEY": "p4ssw0rd-of-a-tenant"}, brains=[])
    yield made
    for brain in made.brains:
        brain.ledger.close()
    scopes.set_process_scope(None)
