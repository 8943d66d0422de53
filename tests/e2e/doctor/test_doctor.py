"""The real command in a real project: sound, with faults sown into it, beside an engine that hangs, and outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_REPOSITORY = Path(__file__).parents[3]
_RECORDING = next(iter(sorted((_REPOSITORY / "recordings" / "ollama" / "base").rglob("*.json"))))
_SECRET = "sk-proj-Ab3dEf6hIj9kLm2nOp5q"
_FILES = {
    ".gitignore": ".stackproof/\n",
    "pyproject.toml": '[tool.stackproof]\nstack_config = "server:desk"\n',
    "stacks/desk/stack.yaml": (
        "description: d\nmodes: [server]\ncommand: ['{python}', server.py, '{port}']\nunder_exec: false\n"
        "readiness: {path: /health, status: 200, timeout: 30}\n"
    ),
    "stacks/desk/server.py": (
        "import http.server, sys\n\n\nclass Answers(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n\n\n"
        "http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Answers).serve_forever()\n"
    ),
    "stacks/setups.yaml": (
        "local:\n  description: d\n  env: {LLM_URL: 'http://localhost:9/v1'}\n  secrets: [LLM_KEY]\n"
        "  providers: {models: {variable: LLM_URL}}\n"
    ),
    "tests/suites.yaml": "suites:\n  base: {description: d, roots: [tests/integration], default_setup: local}\n",
    "tests/integration/test_it.py": "def test_one() -> None:\n    assert True\n",
    "ci/release.yaml": "version: 1\ncells:\n  - {suite: base, setup: local, stack: 'server:desk'}\n",
    "ci/expected/base-local-server-desk.json": json.dumps(
        {
            "schema": 1,
            "cell": "base-local-server-desk",
            "nodeids": ["tests/integration/test_it.py::test_one"],
            "skips": {},
            "xfails": [],
        }
    ),
    ".github/workflows/tests.yml": "jobs: {tests: {steps: [{run: stackproof verify-release}]}}\n",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What the command came to."""

    code: int
    out: str
    error: str

    @property
    def facts(self) -> Any:
        """The object that --json prints."""
        return json.loads(self.out)

    @property
    def wrong(self) -> set[str]:
        """Ids of what is not in order, those apart that are of this machine and no project's."""
        found = {each["id"] for each in self.facts["findings"] if each["level"] != "ok"}
        return {each for each in found if each.partition(".")[0] not in _OF_THIS_MACHINE}


_OF_THIS_MACHINE = {"python", "install", "machine", "proxies", "sealing", "docker"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """A project in a home folder of its own."""

    root: Path
    environ: Mapping[str, str]

    def write(self, files: Mapping[str, str]) -> None:
        """Write files of the project."""
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")

    def git(self, *words: str) -> None:
        """Call Git in the project."""
        who = ["-c", "user.name=tests", "-c", "user.email=tests@example.invalid"]
        subprocess.run(["git", "-C", str(self.root), *who, *words], check=True, timeout=300, env=self.environ)

    def call(self, *words: str, **environ: str) -> Said:
        """Call the command."""
        done = subprocess.run(
            [sys.executable, "-m", "stackproof", *words],
            cwd=self.root,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        return Said(code=done.returncode, out=done.stdout, error=done.stderr)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A sound project: one recording, a policy with its expectation, a workflow, all committed."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    # An engine of this machine is nobody's business here, and slower than all the rest.
    environ = {**kept, "HOME": str(tmp_path), "DOCKER_HOST": "unix:///not/there.sock", "PYTHONDONTWRITEBYTECODE": "1"}
    made = Desk(root=tmp_path / "desk", environ=environ)
    made.write(_FILES)
    (made.root / "recordings" / "local").mkdir(parents=True)
    shutil.copy(_RECORDING, made.root / "recordings" / "local")
    made.git("init", "-q")
    made.git("add", "-A")
    made.git("commit", "-qm", "all")
    return made


def test_a_sound_project_has_nothing_in_its_way_and_nothing_is_changed(desk: Desk) -> None:
    before = _tree(desk.root.parent)
    said = desk.call("doctor", "--json", LLM_KEY=_SECRET)
    assert _tree(desk.root.parent) == before
    assert (said.code, said.error) == (0, "")
    assert said.wrong == set()
    assert said.facts["project"] == "~/desk"
    assert [each["check"] for each in said.facts["checks"]][-1] == "release"
    assert _SECRET not in said.out


def _tree(root: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.lstat() for path in root.rglob("*")}
    return {name: (facts.st_mtime_ns, facts.st_size) for name, facts in found.items()}


def test_faults_that_were_sown_are_all_found(desk: Desk) -> None:
    desk.write(
        {
            "pytest.ini": (
                "[pytest]\naddopts = --lf -x -n 2 --junitxml=a.xml -p stackproof.pytest_plugin\nmarkers = fault\n"
            ),
            "conftest.py": "import respx\nimport pytest\n\n\n@pytest.fixture\ndef http_client(): ...\n",
            "desk/app.py": "import grpc\n\nclient.aio.live.connect(model='m')\n",
            "recordings/local/damaged.json": "<<<<<<< HEAD\n",
            "recordings/local/pointer.json": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n",
            "recordings/locul/a.json": "{}",
            ".gitignore": ".stackproof/\nrecordings/locul\n",
            ".env": f"LLM_KEY={_SECRET}\n",
            ".stackproof/runs/aaaaaa/owner.json": json.dumps(
                {"host": socket.gethostname(), "pid": 1 << 30, "started": 1}
            ),
            ".stackproof/runs/bbbbbb/owner.json": json.dumps({"host": "another", "pid": 1, "started": 1}),
            ".stackproof/internal-error-20260101T000000-1.txt": "x",
            "suites.yaml": "",
            "ci/expected/base-local-server-desk.json": _FILES["ci/expected/base-local-server-desk.json"].replace(
                "test_one", "test_two"
            ),
            ".github/workflows/tests.yml": "jobs: {tests: {steps: [{run: pytest}]}}\n",
        }
    )
    said = desk.call("doctor", "--json", STACKPROOF_INFERENCE_MODE="record-if-missing", PYTHONOPTIMIZE="1")
    assert said.code == 7
    assert said.wrong == {
        "bypass.import",
        "bypass.realtime",
        "conflicts.fixture",
        "conflicts.transport",
        "keys.in-file",
        "project.misplaced",
        "pytest.ends-early",
        "pytest.leaves-out",
        "pytest.marker",
        "pytest.plugin-twice",
        "pytest.report",
        "pytest.workers",
        "recordings.damaged",
        "recordings.ignored",
        "recordings.pointers",
        "recordings.uncommitted",
        "recordings.unknown-setup",
        "release.expected",
        "release.workflow",
        "runs.elsewhere",
        "runs.killed",
        "runs.reports",
        "variables.mode",
        "variables.python",
    }
    assert all(each["remedy"] for each in said.facts["findings"] if each["level"] != "ok")
    assert _SECRET not in said.out


def test_a_file_that_is_wrong_stands_in_the_way_and_the_other_checks_go_on(desk: Desk) -> None:
    desk.write({"stacks/setups.yaml": "local:\n  desciption: d\n"})
    said = desk.call("doctor", "--json")
    assert said.code == 7
    (found,) = [each for each in said.facts["findings"] if each["id"] == "project.files"]
    assert found["says"].startswith("stacks/setups.yaml:2: unknown key 'desciption'")
    assert not [each for each in said.facts["findings"] if each["id"].endswith((".failed", ".late"))]


def test_what_a_person_sees_fits_80_columns_and_ends_with_the_sum(desk: Desk) -> None:
    shutil.rmtree(desk.root / "recordings")
    said = desk.call("doctor", "--only", "project,keys", "--only", "recordings", COLUMNS="80")
    assert said.code == 7
    assert max(map(len, said.out.splitlines())) <= 80
    assert said.out.splitlines() == [
        said.out.splitlines()[0],
        "",
        "✓ project     1 suite, 1 stack and 1 setup of its own; a plain run is base ×",
        "              local × server:desk, replay",
        "✓ keys        setup local records with LLM_KEY, which is not set; a replay needs",
        "              no key",
        "✗ recordings  setup local has no recordings in recordings/, so a replay has",
        "              nothing to answer with",
        "              → `stackproof run --setup local --inference-mode record`, with its",
        "                key set",
        "",
        "1 thing stands in the way of a replay",
    ]


def test_no_value_of_a_variable_is_told(desk: Desk) -> None:
    environ = {
        "LLM_KEY": f" {_SECRET} ",
        "OPENAI_API_KEY": _SECRET,
        "HTTPS_PROXY": "http://somebody:pa55word@proxy.example:3128",
        "PIP_INDEX_URL": "https://somebody:pa55word@index.example/simple",
        "STACKPROOF_ENV": f"OPENAI_API_KEY={_SECRET}",
    }
    for words in ((), ("--json",)):
        said = desk.call("doctor", *words, **environ)
        assert "proxy.example:3128" in said.out
        assert "index.example" in said.out
        for value in (_SECRET, "pa55word", "somebody"):
            assert value not in said.out + said.error


@pytest.fixture
def silent_engine() -> Iterator[str]:
    """The address of what takes every connection and says nothing."""
    path = f"/tmp/stackproof-silent-{os.getpid()}-{time.time_ns()}.sock"  # noqa: S108 - sockets need a short path
    held: list[socket.socket] = []
    stop = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(0.1)

        def accept() -> None:
            while not stop.is_set():
                try:
                    held.append(listener.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"unix://{path}"
        stop.set()
        thread.join(60)
        for connection in held:
            connection.close()
    Path(path).unlink()


def test_an_engine_that_hangs_does_not_hang_the_command(desk: Desk, silent_engine: str) -> None:
    said = desk.call("doctor", "--json", "--only", "docker,project", DOCKER_HOST=silent_engine)
    assert said.code == 0
    docker, project = said.facts["findings"]
    assert (docker["id"], docker["level"]) == ("docker.engine", "odd")
    assert "it answered nothing in time" in docker["says"]
    assert project["id"] == "project.plan"


def test_outside_of_a_project_machine_and_installation_are_looked_at(desk: Desk) -> None:
    (desk.root / "empty").mkdir()
    outside = Desk(root=desk.root.parent, environ=desk.environ)
    said = outside.call("doctor", "--json")
    assert said.code == 0
    assert said.facts["project"] is None
    assert {each["check"] for each in said.facts["checks"]} == {
        "python", "install", "machine", "variables", "proxies", "sealing", "docker", "project", "libraries",
    }  # fmt: skip
    (found,) = [each for each in said.facts["findings"] if each["id"] == "project.none"]
    assert found["remedy"] == "`cd desk`, which is one"
    refused = outside.call("doctor", "--only", "keys")
    assert (refused.code, refused.out) == (2, "")
    assert "--only keys: there is no project here that could be looked at" in refused.error


def test_a_working_folder_that_was_removed_is_said(desk: Desk, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec '{sys.executable}' -m stackproof doctor"
    done = subprocess.run(
        ["sh", "-c", script], env=desk.environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("✗ the working folder was removed\n  cd into a folder that is there")


def test_a_check_that_is_misspelt_is_a_usage_error(desk: Desk) -> None:
    said = desk.call("doctor", "--only", "dokcer")
    assert said.code == 2
    assert "unknown check 'dokcer' (--only), did you mean 'docker'?" in said.error


def test_what_the_doctor_calls_an_obstacle_is_one(desk: Desk) -> None:
    desk.write({"pytest.ini": "[pytest]\naddopts = -p stackproof.pytest_plugin\n"})
    assert desk.call("doctor", "--only", "pytest").code == 7
    ran = desk.call("run", PYTEST_ADDOPTS="-pno:xdist -pno:langsmith_plugin")
    assert ran.code == 1
    assert "Plugin already registered under a different name" in ran.out + ran.error
