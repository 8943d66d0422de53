"""Podman by Docker's API: the same runs, on an engine of this test's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.run.docker.somebody import provider

from stackproof.errors import DockerError
from stackproof.stack import built, sweep
from stackproof.stack import engine as engines
from stackproof.stack.engine import Engine

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

BASE = "STACKPROOF_DOCKER_BASE"
# Podman wants more for its containers than a machine within a machine may give.
LIMITS = '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
MORE = """
        if self.path == "/provider":
            import urllib.request
            asked = urllib.request.Request(os.environ["TOY_URL"] + "/chat/completions", data=b"{}")
            body = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=60).read()
        if self.path == "/routes":
            body = open("/proc/net/route").read().encode()
"""
ASK = """
import os, urllib.request

def ask(path):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(os.environ["STACKPROOF_API_BASE_URL"] + path, timeout=60) as answer:
        return answer.read().decode()
"""
STAGES = """\
ARG BASE
FROM ${BASE} AS installed
RUN echo done in the first stage > /made
FROM ${BASE}
COPY --from=installed /made /made
COPY stack /stack
WORKDIR /stack
"""
SETUPS = """
local:
  description: a provider that the test has started
  env: {TOY_URL: "http://127.0.0.1:9/v1"}
  providers: {toy: {variable: TOY_URL}}
"""


@pytest.fixture(scope="module")
def podman(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Podman's service with images of its own, the base image among them."""
    if shutil.which("podman") is None or shutil.which("docker") is None or os.getuid() != 0:
        pytest.skip("needs podman, root, and the command that saves an image of the other engine")
    folder = tmp_path_factory.mktemp("podman")
    (folder / "containers.conf").write_text(LIMITS)
    environ = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf")}
    own = ["podman", "--root", str(folder / "images"), "--runroot", str(folder / "running")]
    host = f"unix://{folder}/socket"
    with contextlib.ExitStack() as undo:
        with (folder / "log").open("wb") as log:
            service = subprocess.Popen(
                [*own, "system", "service", "--time=0", host], env=environ, stdout=log, stderr=log
            )
        undo.callback(_unmounted, folder / "images")
        undo.callback(service.wait, timeout=120)
        undo.callback(service.terminate)
        found = undo.enter_context(contextlib.closing(_connected(host)))
        saved = subprocess.Popen(["docker", "save", os.environ[BASE]], stdout=subprocess.PIPE)
        subprocess.run([*own, "load", "--quiet"], stdin=saved.stdout, env=environ, check=True, timeout=300)
        assert saved.stdout is not None
        saved.stdout.close()
        assert saved.wait(timeout=60) == 0
        yield found
        assert [item.name for item in sweep.listed(found)] == []


def _connected(host: str) -> Engine:
    deadline = time.monotonic() + 60
    while True:
        try:
            return engines.connect({"DOCKER_HOST": host})
        except DockerError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _unmounted(images: Path) -> None:
    # Podman leaves its folder of layers mounted on itself.
    subprocess.run(["umount", str(images / "overlay")], capture_output=True, check=False)
    shutil.rmtree(images, ignore_errors=True)


@pytest.fixture
def on_podman(project: Project, podman: Engine, contained: Callable[..., str]) -> Project:
    """The small project with a stack in a container of Podman."""
    contained("toy", more=MORE)
    project.environ["DOCKER_HOST"] = podman.endpoint.url
    return project


def test_it_says_what_it_is(podman: Engine) -> None:
    assert (podman.facts.product, podman.facts.rootless) == ("Podman", False)


def test_a_replay_is_shut_off_and_leaves_nothing(on_podman: Project, podman: Engine) -> None:
    on_podman.tests(
        ASK + "def test_answers():\n    assert ask('/x') == 'ok'\n"
        "def test_there_is_no_way_out():\n"
        "    assert [row.split()[1] for row in ask('/routes').splitlines()[1:]].count('00000000') == 0\n"
    )
    done = on_podman.run("--stack-config", "docker:toy")
    assert done.code == 0, done.output
    assert "2 passed" in done.output
    assert "sealed (network namespace)" in done.output
    assert (on_podman.cell_dir() / "stack.log").read_text().startswith("starting\n")
    assert sweep.listed(podman) == ()


def test_a_provider_on_this_machine_is_reached_from_the_container(on_podman: Project) -> None:
    (on_podman.root / "stacks/setups.yaml").write_text(SETUPS)
    on_podman.tests(ASK + "def test_calls():\n    assert 'good day' in ask('/provider')\n")
    with provider() as there:
        on_podman.environ["TOY_URL"] = there.url
        done = on_podman.run("--stack-config", "docker:toy", "--inference-mode", "live")
    assert done.code == 0, done.output
    assert len(there.asked) == 1


def test_a_failed_step_of_a_build_is_named(on_podman: Project, contained: Callable[..., str]) -> None:
    contained("broken", dockerfile="ARG BASE\nFROM ${BASE}\nRUN echo so far so good && exit 9\n")
    done = on_podman.run("--stack-config", "docker:broken")
    assert done.code == 4, done.output
    assert "could not be built: STEP " in done.output
    assert "RUN echo so far so good && exit 9" in done.output


def test_what_its_builds_leave_has_a_name(on_podman: Project, podman: Engine, contained: Callable[..., str]) -> None:
    done = on_podman.run("--stack-config", contained("toy", dockerfile=STAGES))
    assert done.code == 0, done.output
    assert podman.nameless() == ()
    images = built.of(podman, "toy")
    assert images != ()
    built.remove(podman, images)
    assert built.of(podman, "toy") == ()
