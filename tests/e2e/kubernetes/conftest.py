"""A project in an image, and what Kubernetes would do with its manifest, done on the Docker engine of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.engine_turn import alone

from stackproof.errors import DockerError
from stackproof.stack import built
from stackproof.stack import engine as engines

BASE = "STACKPROOF_DOCKER_BASE"
SHARDS = 3
_STACK = "podtoy"
_DIGEST = "registry.example/podtoy@sha256:" + "0" * 64
FILES = {
    ".gitignore": ".stackproof/\n__pycache__/\n.env\n",
    ".env": "PASSWORD=never to be in an image\n",
    f"stacks/{_STACK}/server.py": """\
import http.server, os, sys
import requests

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"ok"
        if self.path != "/health":
            asked = {"question": self.path}
            body = requests.post(os.environ["DESK_URL"] + "/answers", json=asked, timeout=60).content
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
""",
    f"stacks/{_STACK}/stack.yaml": """\
description: a server that asks a provider
modes: [server, docker]
command: ["{python}", "server.py", "{host}", "{port}"]
readiness: {path: /health, timeout: 120}
docker: {dockerfile: Dockerfile, tests: requirements.txt, python: /venv/bin/python}
""",
    f"stacks/{_STACK}/requirements.txt": (
        # The same as for the tests on a swarm, so that their wheels are fetched once.
        "# what the tests of this stack need beside Stackproof: nothing\n"
    ),
    f"stacks/{_STACK}/Dockerfile": """\
ARG BASE=python:3.11-slim
FROM ${BASE}
COPY wheels /wheels
COPY requirements.txt /wheels/requirements.txt
RUN python3 -m venv /venv \\
 && /venv/bin/pip install --no-cache-dir --no-index --find-links=/wheels --disable-pip-version-check \\
      --requirement /wheels/requirements.txt
""",
    "stacks/setups.yaml": """\
local:
  description: a provider on this machine
  env: {DESK_URL: "http://127.0.0.1:9/v1"}
  providers:
    answers: {variable: DESK_URL}
""",
    "tests/suites.yaml": """\
suites:
  base: {description: d, roots: [tests/integration/base], default_setup: local}
""",
    "tests/integration/base/test_it.py": """\
import os, pathlib, pytest, requests, time

@pytest.fixture(autouse=True)
def slow():
    time.sleep(float(os.environ.get("SLOW", "0")))

@pytest.mark.parametrize("question", ["a", "b", "c", "d", "e"])
def test_a_question(stack, question):
    with requests.Session() as session:
        session.trust_env = False
        assert question in session.get(f"{stack.base_url}/{question}", timeout=120).json()["text"]

def test_where_it_runs():
    assert not os.environ.get("BROKEN")
    if not pathlib.Path(".stackproof-source.json").exists():
        return  # not in a pod
    assert os.getuid() == os.getgid() == 10001
    assert not pathlib.Path(".env").exists()
    for place in ("/", "/project", "/venv", "/stackproof"):
        with pytest.raises(OSError):
            pathlib.Path(place, "new").write_text("x")
""",
    "ci/release.yaml": f"""\
version: 1
cells: [{{suite: base, setup: local, stack: "server:{_STACK}"}}]
""",
    "ci/matrix.yaml": """\
version: 1
lanes:
  checks: {description: d, triggers: [push], checks: [recordings]}
  all: {description: d, triggers: [workflow_dispatch], cells: {release: {}}, checks: [recordings]}
""",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A command that ended: its exit code and all that it wrote."""

    code: int
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A project in an image. claims: a folder in which each claim is one. checks: the run folder of the lane beside."""

    root: Path
    image: str
    claims: Path
    checks: Path

    def manifest(self, *words: str, shards: int = SHARDS, lane: str | None = None) -> dict[str, Any]:
        """The Job that `stackproof plan` writes for this project."""
        what = ("--stack-config", f"server:{_STACK}") if lane is None else ("--lane", lane)
        done = _stackproof(
            self.root, "plan", *what, "--shards", str(shards), "--format", "kubernetes", "--image", _DIGEST,
            "--claim", "evidence", *words,
        )  # fmt: skip
        assert done.code == 0, done.said
        job = [each for each in yaml.safe_load_all(done.said) if each][-1]
        assert isinstance(job, dict)
        return job

    def claim(self, name: str) -> Path:
        """A folder that the pods' user may write to, as a volume with its fsGroup."""
        folder = self.claims / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        return folder

    def pod(self, job: Mapping[str, Any], index: int, claim: Path) -> Pod:
        """Start a pod of the Job as the kubelet would: its very command, user, rights, limits and folders."""
        spec = job["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert container["image"] == _DIGEST
        name = f"{job['metadata']['name']}-{index}-{os.urandom(3).hex()[:5]}"
        user = spec["securityContext"]["runAsUser"]
        command = [
            "docker", "run", "--rm", "--name", name, "--network", "none", "--read-only",
            "--user", f"{user}:{spec['securityContext']['runAsGroup']}", "--cap-drop", "ALL",
            "--security-opt", "no-new-privileges", "--memory", "512m", "--workdir", container["workingDir"],
            "--env", f"JOB_COMPLETION_INDEX={index}",
        ]  # fmt: skip
        for each in container["env"]:
            command += ["--env", f"{each['name']}={expanded(each['value']) if 'value' in each else name}"]
        claimed = {each["name"] for each in spec["volumes"] if "persistentVolumeClaim" in each}
        for mount in container["volumeMounts"]:
            if mount["name"] in claimed:
                command += ["--volume", f"{claim}:{mount['mountPath']}"]
            else:
                command += ["--tmpfs", f"{mount['mountPath']}:exec,mode=0770,uid={user},gid={user}"]
        first, *rest = map(expanded, (*container["command"], *container["args"]))
        command += ["--entrypoint", first, self.image, *rest]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return Pod(name=name, process=process)

    def weigh(self, *folders: Path) -> Done:
        """`stackproof verdict` over run folders, in the project's checkout."""
        return _stackproof(self.root, "verdict", *map(str, folders))


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """A container that stands for a pod."""

    name: str
    process: subprocess.Popen[str]

    def ended(self) -> Done:
        """Wait for its end."""
        said, _ = self.process.communicate(timeout=480)
        return Done(code=self.process.returncode, said=said)

    def wait_for(self, text: str) -> None:
        """Read what it writes until a line has `text` in it."""
        deadline = time.monotonic() + 240
        assert self.process.stdout is not None
        for line in self.process.stdout:
            assert time.monotonic() < deadline
            if text in line:
                return
        pytest.fail(f"the pod never wrote {text!r}")

    def lose(self) -> None:
        """End it as a node that is lost does."""
        subprocess.run(["docker", "kill", self.name], check=True, capture_output=True, timeout=120)
        self.process.communicate(timeout=120)


def expanded(text: str) -> str:
    """What Kubernetes makes of a word in which it finds no variable."""
    assert "$(" not in text.replace("$$", "")
    return text.replace("$$", "$")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The project, recorded, committed, and built into an image that is gone afterwards."""
    if shutil.which("docker") is None:
        pytest.skip("needs docker, the program")
    try:
        engine = engines.connect(os.environ)
    except DockerError as error:
        pytest.skip(f"needs docker: {error.message}")
    # Tests of the engine count what is on it, so all of this is one turn.
    with contextlib.closing(engine), alone():
        if not os.environ.get(BASE):
            pytest.skip(f"needs docker and a base image with Python in {BASE}")
        root = tmp_path_factory.mktemp("project")
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        _git(root, "init", "--quiet")
        with _provider() as url:
            words = ("run", "--stack-config", f"server:{_STACK}")
            recorded = _stackproof(root, *words, "--inference-mode", "record", DESK_URL=url)
        assert recorded.code == 0, recorded.said
        _commit(root)
        replayed = _stackproof(root, *words)
        assert replayed.code == 0, replayed.said
        updated = _stackproof(root, "policy", "update")
        assert updated.code == 0, updated.said
        _commit(root)
        try:
            done = _stackproof(root, "stack", "image", _STACK, "--json")
            assert done.code == 0, done.said
            facts = json.loads(done.said)
            assert (facts["dirty"], len(facts["commit"])) == (False, 40)
            checked = _stackproof(root, "lane", "run", "checks", "--json")
            assert checked.code == 0, checked.said
            claims = tmp_path_factory.mktemp("claims")
            checks = max(root.glob(".stackproof/runs/*"), key=lambda path: path.stat().st_mtime)
            yield Cluster(root=root, image=facts["image"], claims=claims, checks=checks)
            # What pods have written is theirs, and whoever runs this may not remove it.
            emptied = ("--user", "0:0", "--volume", f"{claims}:/claims", facts["image"], "sh", "-c", "rm -r /claims/*")
            subprocess.run(["docker", "run", "--rm", *emptied], check=True, capture_output=True, timeout=120)
        finally:
            built.remove(engine, built.of(engine, _STACK))
            assert built.of(engine, _STACK) == ()


def _stackproof(root: Path, *words: str, **variables: str) -> Done:
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name == BASE or not name.startswith(("STACKPROOF_", "PYTEST_", "GITHUB_", "CI_")))
        and name not in ("CI", "PYTHONPATH")
    }
    plugins = "-pno:langsmith_plugin -pno:hypothesispytest -pno:anyio -pno:asyncio -pno:recording -pno:xdist"
    done = subprocess.run(
        [sys.executable, "-m", "stackproof", *words],
        cwd=root,
        env={**kept, "PYTEST_ADDOPTS": plugins, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Done(code=done.returncode, said=done.stdout)


def _commit(root: Path) -> None:
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", "a change")


def _git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=pods", "-c", "user.email=pods@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, timeout=120)


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({"text": f"You ask {asked['question']}."}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing."""


@contextlib.contextmanager
def _provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)
