"""A provider service that is built here and runs in a container: asked for as `docker:NAME`, and gone afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import built, labels, sweep
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

DOCKERFILE = """\
ARG BASE
FROM ${BASE}
COPY stack /service
USER 65534:65534
CMD ["python3", "/service/serve.py", "0.0.0.0", "8000", "in a container"]
"""
SERVE = """
import http.server, sys
print("starting", flush=True)
{before}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[3].encode())
        {after}

    def log_message(self, *args):
        print(self.path, flush=True)

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""
SERVICE = """
description: a provider that is a process or a container
command: ["{python}", "serve.py", "{host}", "{port}", "in a process"]
docker: {dockerfile: Dockerfile, context: [serve.py], port: 8000}
readiness: {path: /health, status: 200, timeout: 900}
server: toy 1.0
"""
SETUPS = """
local:
  description: a provider that is started
  env: {TOY_URL: "http://127.0.0.1:9/v1"}
  providers:
    toy: {variable: TOY_URL}
"""
TESTS = """
import os, pathlib, time, urllib.request

def test_it_is_called():
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    said = opener.open(os.environ["TOY_URL"] + "/anything", timeout=60).read().decode()
    pathlib.Path("said").write_text(said)
    time.sleep(float(os.environ.get("STAY", "0")))
"""

Provided = Callable[..., tuple[str, ...]]


@pytest.fixture
def provided(project: Project, engine: Engine) -> Iterator[Provided]:
    """Adds the service; returns what starts a live run with it."""

    def add(*, before: str = "", after: str = "", dockerfile: str = DOCKERFILE) -> tuple[str, ...]:
        folder = project.root / "stacks/brain"
        folder.mkdir(exist_ok=True)
        (folder / "Dockerfile").write_text(dockerfile)
        (folder / "serve.py").write_text(SERVE.format(before=before, after=after))
        (folder / "service.yaml").write_text(SERVICE)
        (project.root / "stacks/setups.yaml").write_text(SETUPS)
        project.environ["STACKPROOF_DOCKER_BASE"] = os.environ["STACKPROOF_DOCKER_BASE"]
        project.tests(TESTS)
        return "--stack-config", project.stack("toy"), "--inference-mode", "live", "--provider-service"

    yield add
    built.remove(engine, built.of(engine, "brain"))


def test_it_is_a_container_when_asked_for_as_one_and_a_process_otherwise(
    project: Project, provided: Provided, engine: Engine
) -> None:
    start = provided()
    done = project.run(*start, "docker:brain")
    assert done.code == 0, done.output
    assert "toy 1.0, started for this run, in a container" in done.output
    assert (project.root / "said").read_text() == "in a container"
    assert (project.cell_dir() / "service.log").read_text().startswith("starting\n")
    assert "/v1/anything" in (project.cell_dir() / "service.log").read_text()
    images = built.of(engine, "brain")
    again = project.run(*start, "docker:brain")
    assert (again.code, "building" in again.output) == (0, False), again.output
    assert built.of(engine, "brain") == images
    as_process = project.run(*start, "brain")
    assert as_process.code == 0, as_process.output
    assert (project.root / "said").read_text() == "in a process"


def test_an_early_end_is_told_at_once_with_its_code_and_log(project: Project, provided: Provided) -> None:
    start = provided(before="import time\ntime.sleep(0.2)\nprint('no weights')\nsys.exit(7)")
    # Waited for until its time is up, the run would not end before the test has given it up.
    done = project.run(*start, "docker:brain")
    assert done.code == 5, done.output
    assert "✗ brain exited with code 7 after" in done.output
    assert "no weights" in done.output


def test_an_end_while_the_tests_run_is_told(project: Project, provided: Provided) -> None:
    after = "if self.path != '/health': print('enough', flush=True); import os; os._exit(9)"
    project.environ["STAY"] = "2"
    done = project.run(*provided(after=after), "docker:brain")
    assert done.code == 5, done.output
    assert "brain exited with code 9 while the tests ran" in done.output
    assert "enough" in done.output


def test_a_build_that_fails_is_the_infrastructures_fault(project: Project, provided: Provided) -> None:
    start = provided(dockerfile="ARG BASE\nFROM ${BASE}\nRUN exit 4\n")
    done = project.run(*start, "docker:brain")
    assert done.code == 4, done.output
    assert "could not be built: Step 3/5 : RUN exit 4" in done.output


def test_a_signal_and_a_kill_leave_nothing_that_stays(
    project: Project, provided: Provided, engine: Engine, left_on_engine: Callable[[], list[str]]
) -> None:
    start = provided()
    project.environ["STAY"] = "900"
    process = project.start(*start, "docker:brain")
    project.wait_for("the test", (project.root / "said").exists)
    (left,) = left_on_engine()
    process.send_signal(signal.SIGTERM)
    output = project.finish(process)
    assert (process.returncode, left_on_engine()) == (143, []), (left, output)

    (project.root / "said").unlink()
    process = project.start(*start, "docker:brain")
    project.wait_for("the test", (project.root / "said").exists)
    (owned,) = [item for item in sweep.listed(engine) if item.labels.get(labels.SERVICE) == "brain"]
    assert not labels.is_abandoned(owned.labels, now=0)
    owner = int(owned.labels[labels.PREFIX + "pid"])
    project.kill(process, *({owner} - {process.pid}))
    assert left_on_engine() == [f"container {owned.name}"]
    project.environ["STAY"] = "0"
    project.wait_for("the end of its tests", lambda: not project.left_behind())
    done = project.run(*start, "docker:brain")
    assert done.code == 0, done.output
    assert f"run {owned.labels[labels.RUN]} was killed; removed 1 container" in done.output
