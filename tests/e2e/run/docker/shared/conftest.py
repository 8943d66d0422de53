"""Cells whose stack has a container that they share."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.stack import supervise

if TYPE_CHECKING:
    from tests.e2e.run.conftest import Project


Add = Callable[..., str]


Begin = Callable[..., subprocess.Popen[str]]


TOLD = """
        if self.path.startswith("/python/"):
            import urllib.parse
            names = {{"os": os, "json": json}}
            body = json.dumps(eval(urllib.parse.unquote(self.path[8:]), names)).encode()
"""


ASK = """
import json, os, pathlib, time, urllib.parse, urllib.request

def ask(code):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = os.environ["STACKPROOF_API_BASE_URL"] + "/python/" + urllib.parse.quote(code, safe="")
    with opener.open(url, timeout=60) as answer:
        return json.loads(answer.read())
"""


# Behind ASK, in a test: the end of the stack's process is known to the run, whose cell looks once more at the end.
UNTIL_ENDED = f"""
def until_ended():
    for _ in range(1200):
        if any(pathlib.Path(os.environ["STACKPROOF_RUN_DIR"]).rglob("{supervise.ENDED}")):
            break
        time.sleep(0.05)
"""


FACTS = """
import errno
PROGRAMS = "[open('/proc/' + name + '/cmdline').read() for name in os.listdir('/proc') if name.isdigit()]"
def test_facts():
    run_dir = os.environ["STACKPROOF_RUN_DIR"]
    assert ask("os.environ['STACKPROOF_RUN_DIR']") == run_dir
    # Nothing that a process of an earlier cell kept in memory is there.
    assert ask("os.__dict__.setdefault('counted', []).append(1) or len(os.counted)") == 1
    assert ask("os.path.exists('/dev/shm/seen') or bool(open('/dev/shm/seen', 'w'))") is True
    assert ask("open('/dev/shm/seen').read()") == ""
    # Nothing gets out, in the first cell as in the last.
    assert ask("__import__('socket').socket().connect_ex(('192.0.2.1', 80))") == errno.ENETUNREACH
    facts = {"host": ask("os.uname().nodename"), "pid": ask("os.getpid()")}
    facts["rights"] = ask("[line for line in open('/proc/self/status') if line.startswith('CapBnd')][0].split()[1]")
    facts["others"] = ask(PROGRAMS)
    pathlib.Path(run_dir, "facts.json").write_text(json.dumps(facts))
"""


@pytest.fixture
def shared(project: Project, contained: Add) -> Callable[..., str]:
    """Adds a stack whose container cells may share, and so many suites with a test each; what --suite takes."""

    def add(count: int, *, before: str = "", tests: str = FACTS, yes: bool = True) -> str:
        contained("toy", before=before, more=TOLD.replace("{{", "{").replace("}}", "}"))
        path = project.root / "stacks" / "toy" / "stack.yaml"
        if yes:
            path.write_text(path.read_text().replace("context: [server.py]", "context: [server.py], shared: true"))
        names = [f"c{number}" for number in range(count)]
        suites = {
            name: {"description": "d", "roots": [f"tests/integration/{name}"], "default_setup": "local"}
            for name in names
        }
        (project.root / "tests" / "suites.yaml").write_text(json.dumps({"suites": suites}))
        for name in names:
            folder = project.root / "tests" / "integration" / name
            folder.mkdir(parents=True)
            (folder / f"test_{name}.py").write_text(ASK + tests)
        return ",".join(names)

    return add


def cells(project: Project) -> list[Path]:
    """The folders of the newest run's cells, in the order of their names."""
    return sorted((project.run_dir() / "cells").iterdir())


def facts(project: Project) -> list[dict[str, object]]:
    """What the tests of each cell wrote down."""
    return [json.loads((cell / "facts.json").read_text()) for cell in cells(project)]
