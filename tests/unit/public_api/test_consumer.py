"""A project of somebody else's, outside of this repository, uses the public names alone: its types hold, it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackproof.cli import reference_api

CONSUMER = '''
"""Everything that is public, used with its types."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from stackproof.faults import Act, Claim, ClaimUnderTest, Fault, parse
from stackproof.fixtures import StackHandle
from stackproof.recorder import InstallError, MissedError, Mode, NetworkBlockedError, Recorded, RecordingInCIError
from stackproof.recorder import recorded, suspended
from stackproof.trace import Cancellation, CancelToken, Completed, Contents, Message, ModelClient, ModelEvent
from stackproof.trace import ModelRequest, RecordingModelClient, ReplayModelClient, TraceError, read


class Live:
    async def stream(self, request: ModelRequest, cancel: Cancellation) -> AsyncIterator[ModelEvent]:
        yield Message(text="Hello")
        yield Completed()


async def told(client: ModelClient) -> list[str]:
    request = ModelRequest(instructions=None, history=({"role": "user", "content": "Hi"},))
    return [event.text async for event in client.stream(request, CancelToken()) if isinstance(event, Message)]


def wire(folder: Path, mode: Mode | str) -> Recorded:
    limit: Fault = parse("status:429,times=1")
    assert limit.act is Act.STATUS
    with recorded(folder, scope="nothing is called", mode=mode, secrets=["KEY"], faults=[limit], environ={}) as calls:
        with suspended():
            pass
    number: int = calls.replayed + calls.missed
    assert number == 0
    return calls


def observe(claim: ClaimUnderTest, stack: StackHandle) -> str:
    about: Claim = claim.claim
    claim.observed(events=["turn_failed"], residue={"pending": []})
    return f"{stack.base_url} {about.invariant}"


def main(folder: Path) -> None:
    live: ModelClient = Live()
    first = asyncio.run(told(RecordingModelClient(live, folder / "trace.jsonl")))
    with ReplayModelClient(folder / "trace.jsonl") as replayed:
        assert asyncio.run(told(replayed)) == first
    contents: Contents = read(folder / "trace.jsonl")
    assert contents.damage is None
    try:
        wire(folder / "recordings", Mode.REPLAY)
    except (MissedError, InstallError, NetworkBlockedError, RecordingInCIError, TraceError) as error:
        sys.exit(str(error))
    print("used")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
'''
# The SDKs are somebody else's, and a minute's worth of reading.
CONFIG = """
[mypy]
strict = true
[mypy-openai.*,anthropic.*,httpx2.*]
follow_imports = skip
"""
WRONG = """
from stackproof.recorder import recorded, recordd
from stackproof.trace import ReplayModelClient

with recorded("recordings", scope=1) as calls:
    text: str = calls.replayed
ReplayModelClient(5)
"""


@pytest.fixture(name="strict", scope="module")
def _strict(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """mypy --strict over files of a folder outside; both tests share what it has read of others."""
    folder = tmp_path_factory.mktemp("consumer")
    (folder / "mypy.ini").write_text(CONFIG, encoding="utf-8")

    def check(**files: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        mypy = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(folder / "cache")]
        names = [f"{name}.py" for name in files]
        return subprocess.run([*mypy, *names], cwd=folder, capture_output=True, text=True, timeout=300, check=False)

    return check


def test_a_consumer_is_clean_under_mypy_strict(strict: Any) -> None:
    done = strict(consumer=CONSUMER)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_a_consumers_mistakes_are_found(strict: Any) -> None:
    said = strict(wrong=WRONG).stdout
    assert 'has no attribute "recordd"' in said
    assert 'Argument "scope" to "recorded" has incompatible type "int"' in said
    assert 'expression has type "int", variable has type "str"' in said
    assert 'Argument 1 to "ReplayModelClient" has incompatible type "int"' in said


def test_a_consumer_runs(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("STACKPROOF", "PYTEST"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CONSUMER, str(tmp_path)],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "used\n"), done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    import stackproof

    assert (Path(str(stackproof.__file__)).parent / "py.typed").is_file()


@pytest.mark.parametrize("package", reference_api.PAGES)
def test_public_names_are_there_sorted_and_have_a_docstring_of_their_own(package: str) -> None:
    module = __import__(f"stackproof.{package}", fromlist=["__all__"])
    assert list(module.__all__) == sorted(module.__all__)
    assert set(module.__all__) <= {*dir(module), *module.__all__}
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type):
            assert value.__doc__, name
            assert not value.__doc__.startswith(f"{name}("), name
