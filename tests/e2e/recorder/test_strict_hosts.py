"""With --strict, a host that was contacted past the recorder fails a run in which calls go out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from tests.e2e.recorder.test_repeated_keys import RUNNER, SUITES

if TYPE_CHECKING:
    from tests.e2e.recorder.conftest import Probe, Project

HOST = "192.0.2.7"  # of a network that documents may name, and nobody has (RFC 5737)
PAST = f"""
import socket

def contact(host="{HOST}", port=443):
    with socket.socket() as one:
        one.settimeout(0.01)
        one.connect_ex((host, port))
"""
TESTS = f"""{PAST}

def test_a(ask):
    assert ask("one").status_code == 200
    contact()


def test_b(ask):
    assert ask("two").status_code == 200
"""
SENTENCE = f"{HOST}:443 was contacted by tests/integration/test_it.py::test_a and not recorded (--strict)"


@pytest.mark.parametrize(
    ("mode", "stack"), [("record", "library"), ("record-if-missing", "server"), ("verify", "library")]
)
def test_it_is_named_with_its_test_and_fails_only_a_strict_run(project: Project, mode: str, stack: str) -> None:
    project.test(TESTS)
    lax = project.run(mode, stack=stack)
    assert lax.code == 0, lax.out
    assert f"contacted and not {'observed' if mode == 'verify' else 'recorded'}: {HOST}:443\n" in lax.out
    strict = project.run(mode, "--strict", stack=stack)
    assert strict.code == 6, strict.out
    assert SENTENCE in strict.out


def test_this_machine_is_no_such_host_unless_a_provider_listens_there(project: Project, probe: Probe) -> None:
    project.test(f"{PAST}\n\ndef test_a(ask):\n    assert ask('one').status_code == 200\n    contact('127.0.0.1', 9)\n")
    assert project.run("record", "--strict", stack="server").code == 0
    project.test(f"{PAST}\n\ndef test_a(ask):\n    ask('one')\n    contact('127.0.0.1', {probe.port})\n")
    ended = project.run("record", "--strict", stack="server")
    assert ended.code == 6, ended.out
    assert f"127.0.0.1:{probe.port} was contacted by tests/integration/test_it.py::test_a" in ended.out


def test_pytest_alone_ends_with_the_same_code(project: Project) -> None:
    project.test(TESTS)
    ended = project.pytest("record", STACKPROOF_STRICT="1")
    assert ended.code == 6, ended.out
    assert f"contacted and not recorded: {HOST}:443" in ended.out


def test_what_a_stack_contacts_for_another_runner_counts_too(project: Project) -> None:
    folder = project.root / "tests/integration/other"
    folder.mkdir(parents=True)
    (folder / "run.py").write_text(
        RUNNER.replace("<failure message={quoteattr(text)}>", "")
        .replace("{escape(text)}</failure>", "")
        .replace("sys.exit(1)", "")
    )
    (project.root / "tests/suites.yaml").write_text(SUITES.replace("PYTHON", json.dumps(sys.executable)))
    app = project.root / "stacks/tiny/tiny_app.py"
    app.write_text(
        app.read_text().replace("async def ask(request):\n", f"{PAST}\nasync def ask(request):\n    contact()\n")
    )
    assert project.run("record", stack="server").code == 0
    ended = project.run("record", "--strict", stack="server")
    assert ended.code == 6, ended.out
    assert f"{HOST}:443 was contacted by tests/integration/other/a::one > two and not recorded (--strict)" in ended.out
