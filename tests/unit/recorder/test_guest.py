"""The recorder is a guest in other people's processes: it brings nothing, and asks for nothing but Python."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackproof import recorder

PACKAGE = Path(recorder.__file__).parent
# Never loaded by importing the recorder and its bootstrap: each is dear, or none of a guest's business.
UNWANTED = (
    "aiohttp", "anyio", "asyncio", "click", "email", "email.message", "email.parser", "hypothesis", "httpx", "httpx2",
    "importlib.resources", "multiprocessing", "pathlib", "pytest", "rich", "stackproof", "tempfile",
    "unittest", "urllib.request", "yaml",
)  # fmt: skip
PROBE = """
import json, sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import time
started = time.process_time()
import stackproof_recorder.serve.bootstrap
spent = time.process_time() - started
told = {"loaded": sorted(set(sys.modules) - before), "all": sorted(sys.modules), "spent": spent}
started = time.process_time()
import asyncio, email.message, multiprocessing.pool, unittest, urllib.request, xml.dom.minidom
print(json.dumps({**told, "floor": time.process_time() - started}))
"""
# One call of each kind, with nothing but the package: what is imported late must be there, too.
CALLS = """
import sys
sys.path.insert(0, sys.argv[1])
from stackproof_recorder.brain import Brain
from stackproof_recorder.interaction import Request
from stackproof_recorder.settings import Provider, Settings
from stackproof_recorder.mode import Mode
import stackproof_recorder.install
url = "http://localhost:1/v1"
def brain(mode, run):
    told = Settings(mode=mode, recordings=sys.argv[2] + "/r", setup="s", run_dir=sys.argv[2] + run, run_id="0",
                    providers=(Provider(name="p", variable="V", prefixes=(url,)),), command="run")
    return Brain(Settings.from_json(told.to_json()), {})
multipart = b'--A\\r\\nContent-Disposition: form-data; name="a"\\r\\n\\r\\nx\\r\\n--A--\\r\\n'
kinds = {"application/json": b'{"a":1}', "multipart/form-data; boundary=A": multipart, "text/plain": b"x"}
for kind, body in kinds.items():
    request = Request(method="POST", url=url + "/x", headers={"content-type": kind}, body=body)
    recorder = brain(Mode.RECORD, "/1")
    decision = recorder.ask(request)
    decision.take.start(200, {"content-type": kind}, {"content-type": kind})
    given = b"".join([*decision.take.feed(body), *decision.take.end()])
    from stackproof_recorder.scope import STACK
    recorder.store.promote(STACK, replace=False)
    assert b"".join(brain(Mode.REPLAY, "/2").ask(request).chunks) == given, kind
    missed = brain(Mode.REPLAY, "/3").ask(Request(method="POST", url=url + "/y", headers={}, body=body))
    assert missed.status == 424
print("ok")
"""


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_the_standard_library_and_this_package_only(path: Path) -> None:
    depth = len(path.relative_to(PACKAGE).parts)
    allowed = set(sys.stdlib_module_names)
    # A transport may import, inside a function, what the library that it serves brings along.
    late = {"anyio"} if path.parent.name == "transports" else set()
    tree = ast.parse(path.read_text())
    top = set(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module).partition(".")[0]]
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= depth, f"line {node.lineno} reaches out of the package"
            continue
        else:
            continue
        assert set(names) <= (allowed if node in top else allowed | late), f"line {node.lineno}"


def _python(version: str) -> str:
    """An interpreter of this version that works, from PATH or pyenv; skips when there is none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(map(str, (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")), reverse=True)
    for candidate in filter(None, candidates):
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, timeout=120, check=False)
        if said.returncode == 0 and version in said.stdout:
            return str(candidate)
    pytest.skip(f"no Python {version} here")


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    """The package, alone under the name that it has in foreign processes."""
    shutil.copytree(PACKAGE, tmp_path / "stackproof_recorder", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def _run(version: str, script: str, *arguments: str) -> str:
    command = [_python(version), "-I", "-S", "-W", "error", "-c", script, *arguments]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    return said.stdout


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_loads_with_nothing_but_python_and_loads_little(guest: Path, version: str) -> None:
    told = json.loads(_run(version, PROBE, str(guest)))
    assert "stackproof_recorder.brain" in told["loaded"]
    assert sorted(set(told["all"]) & set(UNWANTED)) == []


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_records_and_replays_with_nothing_but_python(guest: Path, tmp_path: Path, version: str) -> None:
    assert _run(version, CALLS, str(guest), str(tmp_path)) == "ok\n"


def test_importing_it_is_quick(guest: Path) -> None:
    """Held to modules of Python itself that it does without: how fast a machine is says nothing about the recorder."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    # Compiled on the first run. Processor time, the best of several: the machine may be busy with other things.
    told = [json.loads(_run(version, PROBE, str(guest))) for _ in range(6)]
    assert min(each["spent"] for each in told) < 3.5 * min(each["floor"] for each in told)
