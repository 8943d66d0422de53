"""Runs of somebody who is not root: what is written is theirs, nothing gets out, and the image's user is another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stackproof
from stackproof.stack import sharing

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project

USER = 65432
DOCKERFILE = """\
ARG BASE
FROM ${BASE}
RUN echo somebody:x:4321:4321::/home/somebody:/bin/sh >>/etc/passwd && mkdir --mode=700 /home/somebody
COPY stack /stack
WORKDIR /stack
USER somebody
"""
MORE = """
        if self.path == "/facts":
            home = os.environ["HOME"]
            rights = open("/proc/self/status").read()
            body = json.dumps({
                "user": [os.getuid(), os.getgid()], "home": os.access(home, os.W_OK),
                "route": open("/proc/net/route").read(),
                "rights": [line.split()[1] for line in rights.splitlines() if line.startswith("CapEff")],
            }).encode()
"""
BEFORE = "open(os.environ['STACKPROOF_RUN_DIR'] + '/written', 'w').close()"
TESTS = """
import os

def test_the_stack_runs_as_the_caller_and_has_no_way_out(http_client):
    said = http_client.get("/facts").json()
    assert said["user"] == [os.getuid(), os.getgid()] == [65432, 65432]
    assert said["home"]
    assert [line.split()[1] for line in said["route"].splitlines()[1:]].count("00000000") == 0
    assert said["rights"] == ["0" * 16]


def test_the_tests_have_none_either():
    assert len(open("/proc/net/route").read().splitlines()) <= 1
"""
# Where Python or this project lie below a folder that only root may enter, they are laid over it for these processes.
AS_USER = """
set -e
stage=$(mktemp --directory); mount -t tmpfs none "$stage"
n=0
for path in $KEPT; do n=$((n + 1)); mkdir "$stage/$n"; mount --bind "$path" "$stage/$n"; done
for path in $SHUT; do mount -t tmpfs -o mode=755 none "$path"; done
n=0
for path in $KEPT; do n=$((n + 1)); mkdir --parents "$path"; mount --bind "$stage/$n" "$path"; done
umount --lazy "$stage"; rmdir "$stage"
exec setpriv --reuid="$USER_ID" --regid="$USER_ID" --groups="$GROUPS_OF" "$@"
"""


def shut(path: Path) -> Path | None:
    """The topmost folder above `path` that others may not enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


@pytest.fixture
def theirs(project: Project) -> Iterator[Project]:
    """The small project once more, as a folder of an ordinary user."""
    if os.getuid() != 0:
        pytest.skip("every other test here is run by an ordinary user already")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs namespaces for mounts")
    folder = Path(tempfile.mkdtemp(prefix="stackproof-user-"))
    moved = type(project)(root=folder, environ=project.environ)
    try:
        shutil.copytree(project.root, folder, dirs_exist_ok=True)
        (folder / "home").mkdir()
        moved.environ.update({"HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"})
        yield moved
    finally:
        shutil.rmtree(folder)


def run(project: Project, *arguments: str, group: int) -> subprocess.CompletedProcess[str]:
    """Run the command as an ordinary user in one more group."""
    folders = [Path(sys.base_prefix), Path(sys.prefix), Path(stackproof.__file__).parents[2]]
    closed = {str(folder): found for folder in folders if (found := shut(folder)) is not None}
    for path in (project.root, *project.root.rglob("*")):
        os.chown(path, USER, USER)
    words: Mapping[str, str] = {
        "KEPT": " ".join(closed),
        "SHUT": " ".join(dict.fromkeys(map(str, closed.values()))),
        "USER_ID": str(USER),
        "GROUPS_OF": str(group),
    }
    command = [sys.executable, "-m", "stackproof", "run", *arguments]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", AS_USER, "sh", *command],
        cwd=project.root,
        env={**project.environ, **words},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def socket_group() -> int:
    """The group that may use the engine's socket."""
    path = Path("/var/run/docker.sock")
    if not path.exists() or os.environ.get("DOCKER_HOST"):
        pytest.skip("needs docker at its usual socket")
    return path.stat().st_gid


@pytest.mark.parametrize("shares", ["", "copy"], ids=["folders", "copies"])
def test_everything_is_the_users_and_nothing_gets_out(
    project: Project, contained: Callable[..., str], theirs: Project, shares: str
) -> None:
    theirs.environ[sharing.VARIABLE] = shares
    stack = contained("toy", more=MORE, dockerfile=DOCKERFILE, before=BEFORE, under_exec=True)
    shutil.copytree(project.root / "stacks", theirs.root / "stacks", dirs_exist_ok=True)
    theirs.tests(TESTS)
    done = run(theirs, "--stack-config", stack, "--seal", "require", group=socket_group())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sealed (network namespace)" in done.stdout
    assert (theirs.cell_dir() / "written").is_file()
    assert list((theirs.cell_dir() / "marks").glob("*.json"))
    others = [str(path) for path in theirs.root.rglob("*") if (path.stat().st_uid, path.stat().st_gid) != (USER, USER)]
    assert others == []
    assert json.loads((theirs.cell_dir() / "outcome.json").read_text())["sealed"] == "namespace"


def test_whoever_may_not_use_the_engine_is_told(
    contained: Callable[..., str], project: Project, theirs: Project
) -> None:
    stack = contained("toy")
    shutil.copytree(project.root / "stacks", theirs.root / "stacks", dirs_exist_ok=True)
    socket_group()
    done = run(theirs, "--stack-config", stack, group=USER)
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"user {USER} may not use it" in done.stdout
    assert "usermod -aG docker" in done.stdout
