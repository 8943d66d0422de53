"""A small project whose suite `live` makes two real calls, and `stackproof smoke` in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITES = "suites: {live: {description: real calls, roots: [tests/live], default_setup: gpt}}\n"
TESTS = """
def ask(openai_client, live_model, **more):
    return openai_client.chat.completions.create(
        model=live_model.title, messages=[{"role": "user", "content": "Say hello."}], max_completion_tokens=16, **more
    )


def test_answers(openai_client, live_model):
    assert ask(openai_client, live_model).choices


def test_streams(openai_client, live_model):
    with ask(openai_client, live_model, stream=True) as stream:
        assert [chunk for chunk in stream if chunk.choices and chunk.choices[0].finish_reason]


def test_answers_once_more(openai_client, live_model):
    assert ask(openai_client, live_model, seed=7).choices
"""
# Variables that would let this machine's own keys, proxies or runs into the tests.
_FOREIGN = ("_KEY", "_URL", "_TOKEN", "_LIVE_MODEL", "_PROXY", "_proxy")
# Plugins of this environment that take longer to load than the tests run.
_QUICK = {"PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Smoked:
    """A smoke that has ended. run_dir: None where it did not come to one. live: what `checks/live.json` holds."""

    code: int
    out: str
    err: str
    run_dir: Path | None

    @property
    def last(self) -> str:
        """The last line."""
        return self.out.rstrip().splitlines()[-1]

    @property
    def live(self) -> dict[str, Any]:
        assert self.run_dir is not None
        found: dict[str, Any] = json.loads((self.run_dir / "checks/live.json").read_text())
        return found

    @property
    def model(self) -> dict[str, Any]:
        """The only model."""
        (found,) = self.live["models"]
        assert isinstance(found, dict)
        return found


def project(folder: Path, tests: str = TESTS) -> Path:
    """The project, in a folder of its own."""
    (folder / "tests/live").mkdir(parents=True)
    (folder / "tests/suites.yaml").write_text(SUITES)
    (folder / "tests/live/test_calls.py").write_text(tests)
    return folder


def environment(**variables: str) -> dict[str, str]:
    """The variables of this process without what is foreign, and these."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(_FOREIGN) and not name.startswith(("PYTEST_", "STACKPROOF_", "GITHUB_", "CI"))
    }
    return {**clean, **_QUICK, **variables}


def start(folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """`stackproof smoke`, running."""
    command = [sys.executable, "-m", "stackproof", "smoke", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(folder: Path, running: subprocess.Popen[str], *, within: float = 540.0) -> Smoked:
    """Wait for its end."""
    out, err = running.communicate(timeout=within)
    runs = sorted((folder / ".stackproof/runs").glob("*/checks/live.json"), key=lambda path: path.stat().st_mtime)
    run_dir = runs[-1].parents[1] if runs else None
    return Smoked(code=running.returncode, out=out, err=err, run_dir=run_dir)


def smoke(folder: Path, *arguments: str, **variables: str) -> Smoked:
    """`stackproof smoke`, to its end."""
    return ended(folder, start(folder, *arguments, **variables))


def holding(folder: Path, secret: str) -> list[str]:
    """Files below the folder that hold the secret."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
