"""A real edge in its own process, in front of the recorder's own loopback provider."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from stackproof.edge import process
from stackproof.edge.announced import Announce, announcer
from stackproof.edge.places import Places
from stackproof.recorder.brain import Brain
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings

_HERE = Path(__file__).parent
_TESTS = _HERE.parents[1]


def _load(path: Path) -> Any:
    """A module by its path: pytest's import mode makes the folders of tests no packages."""
    name = f"stackproof_edge_{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


_wire_tests = _load(_TESTS / "unit" / "recorder_wire" / "conftest.py")
provider, bench, unused_port, make_caller = (
    _wire_tests.provider,
    _wire_tests.bench,
    _wire_tests.unused_port,
    _wire_tests.make_caller,
)
TEST: Scope = _wire_tests.TEST
# A small project, run by the real command.
project = _load(_TESTS / "e2e" / "run" / "conftest.py").project


@pytest.fixture
def wires() -> Any:
    """What providers answer, by path."""
    return _load(_TESTS / "e2e" / "sdk" / "wires.py")


@pytest.fixture
def clients() -> Any:
    """A function for each row of the table of SDKs."""
    return _load(_TESTS / "e2e" / "sdk" / "clients.py")


@pytest.fixture
def certificates() -> Any:
    """Certificates of this machine."""
    return _load(_TESTS / "e2e" / "setups" / "certificates.py")


def id_of(owner: Scope) -> dict[str, str]:
    """The id header of a scope, as a stack that forwards it sends it along."""
    return {"X-Provider-Data": json.dumps({"__test_id": owner.test_id})}


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """A running edge. url: what the variable of the provider `probe` is set to. pid: of its process."""

    settings: Settings
    places: Places
    url: str
    log: Path
    pid: int

    @property
    def announce(self) -> Announce:
        """What a process of tests tells it."""
        return announcer(self.settings.run_dir)

    @property
    def prefix(self) -> str:
        """The provider's URL by its name."""
        return f"{self.places.url}/probe"

    def calls(self) -> list[str]:
        """Kinds of the calls so far."""
        return [str(call["kind"]) for call in self.lines("calls")]

    def lines(self, journal: str) -> list[dict[str, Any]]:
        """A journal of the run."""
        path = Path(self.settings.run_dir, f"{journal}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def keep(self, owner: Scope = TEST) -> None:
        """What the plugin does when a test has passed."""
        brain = Brain(self.settings, {})
        assert brain.ledger.wait_for_calls(owner, 60.0) == 0, "a call never settled"
        brain.store.promote(owner, replace=self.settings.mode is Mode.RECORD)
        brain.ledger.close()


class EdgeBench:
    """Edges for one provider, each in a run folder of its own; they share the recordings."""

    def __init__(self, bench: Any, environ: dict[str, str]) -> None:
        self.bench, self._environ = bench, environ

    @contextlib.contextmanager
    def run(
        self,
        mode: Mode,
        *,
        environ: dict[str, str] | None = None,
        providers: tuple[Provider, ...] = (),
        kept: bool = True,
        **more: Any,
    ) -> Iterator[Edge]:
        """An edge in this mode; what its test recorded is kept at the end."""
        settings = self.bench.settings(mode, **more)
        if providers:
            settings = replace(settings, providers=providers)
        folder = Path(settings.run_dir)
        folder.mkdir(parents=True)
        places = process.free_places([item.name for item in settings.providers if item.variable])
        running = process.running(
            settings,
            places,
            environment={**self._environ, **(environ or {})},
            cell_dir=folder,
            log=folder / process.LOG,
            say=print,
            check=lambda: None,
        )
        with running as started:
            address = places.own_address("probe")
            edge = Edge(
                settings=settings,
                places=places,
                url=f"{address}/v1",
                log=folder / process.LOG,
                pid=started.pid,
            )
            yield edge
            if mode.records and kept:
                edge.keep()

    def record(self, **more: Any) -> contextlib.AbstractContextManager[Edge]:
        """Record."""
        return self.run(Mode.RECORD, **more)

    @contextlib.contextmanager
    def replay(self, **more: Any) -> Iterator[Edge]:
        """Replay; the provider must not be asked."""
        before = len(self.bench.provider.asked)
        with self.run(Mode.REPLAY, **more) as edge:
            yield edge
        assert len(self.bench.provider.asked) == before, "the provider was asked in replay"


@pytest.fixture
def edges(bench: Any) -> EdgeBench:
    """Edges for this test's provider."""
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return EdgeBench(bench, environ)
