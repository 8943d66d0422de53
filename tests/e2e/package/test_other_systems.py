"""Systems that are not Linux, as far as Linux can play them: without /proc, without namespaces, by another name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.package.conftest import Shop

# What a Python of macOS has not, and how it is called; sysconfig and urllib look for files and modules of that system.
MACOS = """
import os, sys, sysconfig, types
sysconfig.get_config_vars()
sys.platform = "darwin"
stub = types.ModuleType("_scproxy")
stub._get_proxy_settings = lambda: {"exclude_simple": False}
stub._get_proxies = lambda: {}
sys.modules["_scproxy"] = stub
for name in ("eventfd", "memfd_create", "pidfd_open", "sched_getaffinity", "setns", "unshare"):
    if hasattr(os, name):
        delattr(os, name)
"""
HIDDEN = 'mount -t tmpfs none /proc && exec "$@"'
# Of Windows, the first of the modules that its Python has not and every run needs.
WINDOWS = """
import sys
sys.modules["fcntl"] = None
from stackproof.cli.main import entry
entry()
"""
PROGRAMS = ("env", "git", "mount", "sh")


@pytest.fixture
def without_proc() -> tuple[str, ...]:
    """In front of a command that is to see no /proc."""
    prefix = ("unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--mount", "sh", "-c", HIDDEN, "sh")
    try:
        done = subprocess.run([*prefix, "true"], capture_output=True, timeout=120, check=False)
    except OSError:
        pytest.skip("there is no unshare program, which makes namespaces")
    if done.returncode != 0:
        pytest.skip(f"this machine permits no namespaces: {done.stderr.decode(errors='replace')}")
    return prefix


def test_a_replay_works_without_proc_and_namespaces_and_says_what_it_is_without(
    foreign: Shop, without_proc: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "macos").mkdir()
    (tmp_path / "macos" / "sitecustomize.py").write_text(MACOS)
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or pytest.fail(f"there is no {name}"))
    environ = {"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(tmp_path / "macos")}
    inside = (shutil.which("unshare") or "", *without_proc[1:])
    command = (*inside, sys.executable, "-m", "stackproof")
    done = foreign.run("run", "--setup", "plain", program=command, environ=environ)
    assert "provider calls: 1 replayed, 0 recorded, 0 missed, 0 unused; guarded in Python only" in done.stdout
    assert "(network namespaces are a thing of Linux)" in done.stdout
    needed = foreign.run("run", "--setup", "plain", "--seal", "require", program=command, environ=environ, code=7)
    assert "no network namespace can be made here: network namespaces are a thing of Linux" in needed.stderr
    by_hand = foreign.run(
        "-q", "tests", program=(*inside, sys.executable, "-m", "pytest"),
        environ=environ | {"STACKPROOF_SETUP": "plain"},
    )  # fmt: skip
    assert "1 passed" in by_hand.stdout


def test_windows_is_told_in_a_sentence(foreign: Shop) -> None:
    done = foreign.run("run", "--setup", "plain", program=(sys.executable, "-c", WINDOWS), code=2)
    assert "Stackproof runs on Linux and macOS; this Python is one of" in done.stderr
    assert "WSL 2" in done.stderr
    assert "Traceback" not in done.stderr
    version = foreign.run("--version", program=(sys.executable, "-c", WINDOWS))
    assert version.stdout.startswith("stackproof ")


def test_a_pytest_on_windows_is_told_too_where_there_is_a_suite_of_ours(foreign: Shop) -> None:
    program = (sys.executable, "-c", "import sys; sys.modules['fcntl'] = None; import pytest; sys.exit(pytest.main())")
    done = foreign.run(program=program, code=2)
    assert "stackproof: Stackproof runs on Linux and macOS" in done.stdout + done.stderr
    (foreign.root / "tests" / "suites.yaml").unlink()
    foreign.write({"tests/integration/base/test_shop.py": "def test_it(): pass"})
    assert "1 passed" in foreign.run(program=program).stdout
