"""A project whose tests come and go: check names what nobody asks for, prune removes it, a strict run still passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.recordings.tiny_project import FILES, SETUP

_FILES = {
    **FILES,
    "stacks/setups.yaml": SETUP + SETUP.replace("probe:", "other:", 1),
    "pyproject.toml": '[tool.stackproof]\nsuite = "base"\nstack_config = "library:tiny"\n',
    "pytest.ini": "[pytest]\nmarkers = slow: takes long\n",
}
# Plugins that take longer to load than the tests run.
_QUICK = {"PYTEST_ADDOPTS": "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording"}
_HEAD = """
import os

import httpx2
import pytest


def ask(say):
    answer = httpx2.post(os.environ["PROBE_URL"] + "/answers", json={"say": say}, trust_env=False, timeout=60)
    answer.raise_for_status()
    return answer.json()["text"]


@pytest.fixture(scope="session")
def greeting():
    return ask("good morning")


"""
_STAYS = "def test_stays(greeting):\n    assert ask('stays')\n\n\n"
_GOES = "def test_goes():\n    assert ask('goes')\n\n\n"
_SIZE = (
    "@pytest.mark.parametrize('size', ['small', '{large}'])\ndef test_size(size):\n    assert ask('how large?')\n\n\n"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project in a folder of its own."""

    root: Path
    url: str

    def tests(self, *parts: str) -> None:
        """Write the file of tests."""
        path = self.root / "tests/integration/test_it.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HEAD + "".join(parts))

    def do(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A stackproof command in a shell of its own."""
        outer = ("STACKPROOF_", "PYTEST_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer) and name != "CI"}
        return subprocess.run(
            [sys.executable, "-m", "stackproof", *arguments],
            cwd=self.root,
            env={**kept, **_QUICK, "PROBE_URL": self.url, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def run(self, *arguments: str, code: int = 0) -> None:
        """A run that ends with `code`."""
        ended = self.do("run", *arguments)
        assert ended.returncode == code, ended.stdout + ended.stderr

    def record(self, *arguments: str) -> None:
        """Record everything anew."""
        self.run("--inference-mode", "record", *arguments)

    def check(self, *arguments: str, code: int) -> dict[str, Any]:
        """What check found."""
        ended = self.do("recordings", "check", "--json", *arguments)
        assert ended.returncode == code, ended.stdout + ended.stderr
        facts: dict[str, Any] = json.loads(ended.stdout)
        return facts

    def prune(self, *arguments: str) -> list[tuple[str, str]]:
        """(kind, test without its path) of what was removed, or would be."""
        ended = self.do("recordings", "prune", "--json", *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return [(one["kind"], _short(one["test"])) for one in json.loads(ended.stdout)["removed"]]

    def kept(self, setup: str = "probe") -> list[str]:
        """What each recording was asked, in order."""
        files = (self.root / "recordings" / setup).rglob("*.json")
        return sorted(json.loads(path.read_text())["request"]["body"]["json"]["say"] for path in files)


def _short(test: str) -> str:
    return test.rpartition("::")[2]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A fresh project, and its provider."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            raw = json.dumps({"text": f"an answer to {body['say']}"}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    for name, text in _FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield Project(root=tmp_path, url=f"http://127.0.0.1:{server.server_address[1]}/v1")
        server.shutdown()
        thread.join(5)


def test_recordings_of_a_deleted_test_are_named_listed_and_removed(project: Project) -> None:
    project.tests(_STAYS, _GOES)
    project.record()
    assert project.kept() == ["goes", "good morning", "stays"]
    project.run("--strict")
    assert project.check(code=0)["used"] == 3
    project.tests(_STAYS)

    (found,) = project.check(code=6)["findings"]
    assert (found["kind"], _short(found["test"]), found["what"]) == ("deleted", "test_goes", "its test is gone")
    assert found["next"] == "stackproof recordings prune --dry-run"
    assert project.prune("--dry-run") == [("deleted", "test_goes")]
    assert project.kept() == ["goes", "good morning", "stays"]

    ended = project.do("recordings", "prune")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[0] == "tests/integration/test_it.py::test_goes: its test is gone"
    assert "1 file removed of 1 test or fixture, 3 recordings looked at" in ended.stdout
    assert project.kept() == ["good morning", "stays"]
    project.run("--strict")
    assert project.prune() == []
    assert project.check(code=0)["used"] == 2


def test_nothing_is_removed_when_the_tests_cannot_be_collected(project: Project) -> None:
    project.tests(_STAYS, _GOES)
    project.record()
    project.run()
    project.tests("import nothing_of_that_name\n", _STAYS)
    ended = project.do("recordings", "prune")
    assert ended.returncode == 2
    assert "tests/integration/test_it.py cannot be collected: ModuleNotFoundError" in ended.stderr
    assert "Traceback" not in ended.stderr
    project.tests("def broken(:\n", _STAYS)
    assert "test_it.py cannot be collected: SyntaxError: " in project.do("recordings", "prune").stderr
    told = project.check(code=0)
    assert "deleted tests were not looked for" in told["notes"][0]

    (project.root / "tests/integration/test_it.py").write_text("")
    ended = project.do("recordings", "prune")
    assert ended.returncode == 2
    assert "no test was collected below tests/integration" in ended.stderr
    (project.root / "tests/integration/conftest.py").write_text("raise RuntimeError('no database')\n")
    ended = project.do("recordings", "prune")
    assert ended.returncode == 2
    assert "cannot be collected" in ended.stderr
    assert "no database" in ended.stderr
    assert project.kept() == ["goes", "good morning", "stays"]


def test_what_a_passing_test_no_longer_asks_for_is_unused_once_a_run_has_shown_it(project: Project) -> None:
    project.tests(_STAYS.replace("assert ", "assert ask('more') and "), _GOES)
    project.record()
    assert project.check(code=0)["used"] == 4, "what has just been recorded is used"
    project.tests(_STAYS, _GOES)
    ended = project.do("recordings", "prune")
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "✗ nothing is removed: suite 'base' has not run in full from the recordings of probe as they are now",
        "  run it: stackproof run --suite base --setup probe",
    ]

    project.run("--pattern", "test_stays")
    assert [one["kind"] for one in project.check(code=6)["findings"]] == ["unused"]
    ended = project.do("recordings", "prune")
    (run,) = [path for path in (project.root / ".stackproof/runs").iterdir() if '"replay"' in (
        path / "cells/base-probe-library-tiny/recorder.json").read_text()]  # fmt: skip
    assert ended.returncode == 2, "a part of the suite is not the suite"
    assert ended.stderr.splitlines() == [
        (
            "✗ nothing is removed: suite 'base' has not run in full on library:tiny from the recordings of probe as "
            "they are now"
        ),
        f"  library:tiny: run {run.name} used it, so what it asks for has to be seen first:",
        "    stackproof run --suite base --setup probe --stack-config library:tiny",
        f"    or, where library:tiny is used no more, forget what it ran: rm -r .stackproof/runs/{run.name}",
    ]
    project.run("--workers", "2")
    assert project.prune() == [("unused", "test_stays")]
    assert project.kept() == ["goes", "good morning", "stays"]
    project.run("--strict")


def test_what_no_run_has_shown_stays(project: Project) -> None:
    slow = "@pytest.mark.slow\ndef test_slow(quiet):\n    assert ask('slow')\n\n\n"
    quiet = "@pytest.fixture(scope='module')\ndef quiet():\n    return ask('quiet')\n\n\n"
    skipped = "def test_skipped():\n    assert ask('skipped')\n\n\n"
    project.tests(_STAYS, quiet, slow, skipped)
    project.record()
    project.tests(_STAYS, quiet, slow, "@pytest.mark.skip(reason='later')\n" + skipped)
    (project.root / "pytest.ini").write_text("[pytest]\nmarkers = slow: takes long\naddopts = -m 'not slow'\n")
    for run in (project.root / ".stackproof/runs").iterdir():
        run.rename(project.root / f"gone-{run.name}")
    project.run()
    told = project.check(code=0)
    assert told["findings"] == []
    assert sum(one["count"] for one in told["not_observed"]) == 3
    assert project.prune() == []
    assert project.kept() == ["good morning", "quiet", "skipped", "slow", "stays"]


def test_a_parameter_that_changed_and_a_setup_that_shares_the_tests(project: Project) -> None:
    project.tests(_STAYS, _SIZE.format(large="large"))
    project.record("--setup", "probe,other")
    project.run("--setup", "probe,other")
    project.tests(_STAYS, _SIZE.format(large="huge"))
    project.run(code=6)
    found = project.check("--setup", "probe", code=6)["findings"]
    assert [(one["kind"], _short(one["test"])) for one in found] == [
        ("deleted", "test_size[large]"),
        ("missing", "test_size[huge]"),
    ]
    assert found[0]["what"] == "its test has other parameters now"
    assert "no recording for POST /answers of probe" in found[1]["what"]
    assert found[1]["next"].endswith("--pattern test_size --inference-mode record-if-missing")
    assert project.prune("--setup", "probe") == [("deleted", "test_size[large]")]
    assert len(project.kept("probe")) == 3
    assert len(project.kept("other")) == 4, "another setup was not asked about"


def test_an_unfinished_run_keeps_everything(project: Project) -> None:
    project.tests(_STAYS, _GOES)
    project.record()
    project.run()
    project.tests(_STAYS, "def test_waits():\n    import time\n    time.sleep(600)\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STACKPROOF_", "PYTEST_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "stackproof", "run"], cwd=project.root, env=kept, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert _wait_for_owner(project.root)
        ended = project.do("recordings", "prune")
        assert ended.returncode == 2
        assert "is in progress, so nothing is removed" in ended.stderr
    finally:
        process.terminate()
        process.communicate(timeout=120)
    assert project.kept() == ["goes", "good morning", "stays"]
    assert project.prune() == [("deleted", "test_goes")]


def _wait_for_owner(root: Path) -> bool:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if list(root.glob(".stackproof/runs/*/owner.json")):
            return True
        time.sleep(0.05)
    return False
