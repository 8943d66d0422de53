"""A file system that is full, a real one in a mount namespace: what a run says, how it ends, and what it keeps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.recordings.tiny_project import FILES

_FILES = {
    **FILES,
    "pyproject.toml": '[tool.stackproof]\nsuite = "base"\nstack_config = "library:tiny"\nseal = "never"\n',
}
_ASKS = """
import os
import httpx2


def ask(say):
    answer = httpx2.post(os.environ["PROBE_URL"] + "/answers", json={"say": say}, trust_env=False)
    answer.raise_for_status()


def test_one():
    ask("one")


def test_two():
    ask("two")
"""
_FILLS = """
from pathlib import Path


def test_before():
    assert True


def test_that_fills_the_disk():
    with Path(".stackproof/filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def test_after():
    assert True
"""
_MOUNT = 'mount -t tmpfs -o size={size} tmpfs "$PWD/{folder}" || exit 99\n'
_PYTEST = "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording"


class _Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        raw = b'{"text": "an answer"}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def provider() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Provider) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join(10)


def _in_namespace(root: Path, tests: str, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A shell script in the project, whose mounts nobody else sees; `$STACKPROOF` is the command."""
    for name, text in {**_FILES, "tests/integration/test_it.py": tests}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if shutil.which("unshare") is None:
        pytest.skip("no file system can be mounted here: there is no unshare")
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    outer = ("STACKPROOF_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(outer) and name != "CI"}
    done = subprocess.run(
        ["unshare", *own, "--mount", "sh", "-c", script],
        cwd=root,
        env={**kept, "PYTEST_ADDOPTS": _PYTEST, "SP": f"{sys.executable} -m stackproof", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode == 99 or done.stdout.startswith("unshare: "):
        pytest.skip(f"no file system can be mounted here: {done.stdout.strip()}")
    return done


def test_answers_for_which_there_is_no_room_wait_in_the_run_until_there_is(tmp_path: Path, provider: str) -> None:
    (tmp_path / "recordings").mkdir()
    done = _in_namespace(
        tmp_path,
        _ASKS,
        _MOUNT.format(size="64k", folder="recordings")
        + """
        head -c 128k /dev/zero > recordings/filler 2>/dev/null
        $SP run --inference-mode record; echo "ended with $?"
        rm recordings/filler
        $SP recordings promote "$(basename .stackproof/runs/*)"; echo "promoted with $?"
        find recordings -name '*.json' | wc -l
        """,
        PROBE_URL=provider,
    )
    lines = done.stdout.splitlines()
    said = next(line for line in lines if line.startswith("✗ "))
    assert said.startswith("✗ recordings/probe/"), done.stdout
    assert "cannot be written: No space left on device, 0 B of 65.5 kB free on " in said
    assert "  make room there" in lines
    assert any("then: stackproof recordings promote " in line for line in lines)
    assert "ended with 74" in lines
    assert "Traceback" not in done.stdout
    # What the first test had recorded; the second one was not run, since nothing of it could have been kept.
    assert lines[-3:] == ["base-probe-library-tiny: 1 file written, 0 removed", "promoted with 0", "1"]


def test_a_full_run_folder_ends_the_run_with_the_place_and_the_room_that_is_left(tmp_path: Path) -> None:
    (tmp_path / ".stackproof").mkdir()
    done = _in_namespace(
        tmp_path,
        _FILLS,
        _MOUNT.format(size="600k", folder=".stackproof")
        + """
        $SP run --inference-mode replay; echo "ended with $?"
        cp .stackproof/runs/*/cells/*/tests.jsonl kept.jsonl
        find .stackproof -name '*.partial'
        """,
    )
    lines = done.stdout.splitlines()
    (said,) = [line for line in lines if line.startswith("✗ ")]
    assert said.startswith("✗ .stackproof/runs/"), done.stdout
    assert "cannot be written: No space left on device, 0 B of 614.4 kB free on " in said
    assert "  make room there: runs in .stackproof/runs that are no longer needed may go" in lines
    assert lines[-1] == "ended with 74"  # and no half a file is left behind
    assert "Traceback" not in done.stdout
    events = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()[:2]]
    assert events[0]["event"] == "collected"
    assert (events[1]["nodeid"].rpartition("::")[2], events[1]["outcome"]) == ("test_before", "passed")
