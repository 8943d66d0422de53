"""The recorders that are compared, each set up as its documentation says for calls whose bodies differ."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stackproof.recorder.install import installed
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope, use
from stackproof.recorder.settings import Provider, Settings

# Tells afterwards how many calls a recording holds, or None where nobody records.
Kept = Callable[[], int | None]
_NAME = "tests/integration/peers/test_peers.py::test_peers"
_runs = itertools.count(1)


@contextlib.contextmanager
def nothing(folder: Path, url: str, *, record: bool) -> Iterator[Kept]:  # noqa: ARG001 - as the others
    """No recorder: what the server says is what the caller gets."""
    yield lambda: None


@contextlib.contextmanager
def stackproof(folder: Path, url: str, *, record: bool) -> Iterator[Kept]:
    """This project's: one test whose recordings are kept, `--record-errors`; each time a new attempt of that test.

    All attempts of one process are in one run, as the tests of a real run are.
    """
    number = next(_runs)
    mode = Mode.RECORD if record else Mode.REPLAY
    owner = Scope(name=_NAME, test_id=_NAME, attempt=number)
    settings = Settings(
        mode=mode,
        recordings=str(folder / "recordings"),
        setup="peers",
        run_dir=str(folder / f"run-{mode.value}"),
        run_id="peers",
        providers=(Provider(name="peers", variable="PEERS_URL", prefixes=(url,)),),
        provenance={"server": "loopback", "synthetic": True},
        record_errors=True,
        command="stackproof run",
    )
    with installed(settings, {}) as brain, use(owner):
        yield lambda: sum(1 for _ in (folder / "recordings").rglob("*-*.json"))
        if record:
            brain.settle(2.0)
            brain.ledger.wait_for_calls(owner, 2.0)
            brain.store.promote(owner, replace=True)
        elif missed := brain.ledger.read("misses")[0]:
            # Told by an error even where the code under test has caught what it got.
            raise LookupError(str(missed[0]["message"]).partition("\n")[0])


@contextlib.contextmanager
def vcrpy(folder: Path, url: str, *, record: bool) -> Iterator[Kept]:  # noqa: ARG001 - it takes calls to any URL
    """vcrpy, matching bodies beside its default of method and URL; nothing new is recorded in replay."""
    vcr = importlib.import_module("vcr")
    match_on = ("method", "scheme", "host", "port", "path", "query", "body")
    made = vcr.VCR(match_on=match_on, record_mode="all" if record else "none")
    with made.use_cassette(str(folder / "vcrpy.yaml")) as cassette:
        yield lambda: len(cassette)


@contextlib.contextmanager
def cassetter(folder: Path, url: str, *, record: bool) -> Iterator[Kept]:  # noqa: ARG001 - it takes calls to any URL
    """cassetter, matching JSON bodies beside its default of method and URL; nothing new is recorded in replay."""
    module = importlib.import_module("cassetter")
    with module.use_cassette(
        str(folder / "cassetter.yaml"),
        record_mode="rewrite" if record else "none",
        match_on=["method", "uri", "json_body"],
    ) as cassette:
        yield lambda: len(cassette.interactions)


TOOLS: dict[str, Callable[..., contextlib.AbstractContextManager[Kept]]] = {
    "nothing": nothing,
    "stackproof": stackproof,
    "vcrpy": vcrpy,
    "cassetter": cassetter,
}


def version_of(tool: str) -> Any:
    """The installed version of a tool."""
    return importlib.import_module("importlib.metadata").version(tool)
