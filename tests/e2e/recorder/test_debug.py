"""What `--debug` tells reaches the person: with the test, of a server as of a library, and in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ONE = """
def test_one(ask):
    ask("hello")
    raise AssertionError("look at this")
"""


def log_of(project: Any) -> Path:
    """The file of the newest run."""
    found = sorted(project.root.glob(".stackproof/runs/*/cells/*/debug.log"), key=lambda path: path.stat().st_mtime)
    assert found, "nothing was told"
    return Path(found[-1])


def blocks(text: str) -> list[str]:
    """What was told, block by block; every line belongs to one."""
    lines = text.splitlines()
    assert all(line.startswith(("stackproof ", "    ")) for line in lines), text
    return [f"stackproof {block}" for block in text.split("stackproof ") if block.strip()]


@pytest.mark.parametrize("stack", ["library", "server"])
def test_a_missed_call_is_told_with_its_test_and_in_one_file(project: Any, stack: str) -> None:
    project.test(ONE)
    ended = project.pytest("replay", stack=stack, STACKPROOF_DEBUG="1")
    assert ended.code == 1
    title = "Captured stderr call" if stack == "library" else "Captured stderr of the stack call"
    shown = ended.out.partition(title)[2]
    assert shown, ended.out
    assert "refused (nothing-recorded): POST /answers of probe, number 1" in shown
    assert "scope       tests/integration/test_it.py::test_one" in shown
    assert 'body        {"json":{"say":"hello"}}' in shown
    assert "looked in   recordings/probe: not there" in shown
    assert "looked in   recordings/probe/common: not there" in shown
    log = log_of(project)
    assert f"is in {log.relative_to(project.root)}" in ended.out
    told = [block for block in blocks(log.read_text()) if "refused" in block]
    assert len(told) == 1
    assert (" stack] " in told[0]) is (stack == "server")


@pytest.mark.parametrize("stack", ["library", "server"])
def test_recording_tells_where_it_goes_and_where_it_ends_up(project: Any, stack: str) -> None:
    project.test("def test_one(ask):\n    ask('hello')\n")
    assert project.pytest("record", stack=stack, STACKPROOF_DEBUG="1").code == 0
    heads = [block.splitlines()[0].partition("] ")[2] for block in blocks(log_of(project).read_text())]
    heads = [head for head in heads if not head.startswith("passed through")]
    assert heads == [
        "goes out: POST /answers of probe, number 1",
        "recorded: POST /answers of probe, number 1",
        "promoted",
    ]
    text = log_of(project).read_text()
    assert f"goes to     http://127.0.0.1:{project.probe.port}" in text
    assert f"file        {project.files()[0].relative_to(project.root)}" in text
    assert "a-key-of-the-probe" not in text


def test_a_server_is_told_apart_and_its_standard_output_stays_its_own(project: Any) -> None:
    project.test("def test_one(ask):\n    ask('hello')\n")
    project.pytest("record", stack="server")
    ended = project.pytest("replay", stack="server", STACKPROOF_DEBUG="1")
    assert ended.code == 0
    text = log_of(project).read_text()
    passed, replayed = (next(block for block in blocks(text) if word in block) for word in ("passed", "replayed"))
    assert " tests] passed through: POST /v1/ask at http://127.0.0.1:" in passed
    assert "the stack, with this scope in a header" in passed
    assert " stack] replayed: POST /answers of probe, number 1" in replayed
    assert "looked in   recordings/probe: found" in replayed


def test_a_connection_beside_every_call_is_told_as_blocked(project: Any) -> None:
    project.test(
        "import socket\n"
        "def test_one(ask):\n    with pytest.raises(OSError):\n        socket.create_connection(('192.0.2.1', 81), 1)\n"
    )
    project.pytest("replay", STACKPROOF_DEBUG="1")
    told = next(block for block in blocks(log_of(project).read_text()) if "blocked" in block)
    assert "] blocked: a connection to 192.0.2.1:81\n    scope       tests/integration/test_it.py::test_one" in told


def test_a_secret_is_told_by_nobody(project: Any) -> None:
    project.test("def test_one(ask):\n    ask('my key is a-key-of-the-probe, really')\n")
    ended = project.pytest("replay", STACKPROOF_DEBUG="1")
    assert ended.code == 1
    told = log_of(project).read_text()
    assert "my key is ***, really" in told
    assert "a-key-of-the-probe" not in told


def test_each_test_of_several_workers_shows_its_own_calls_only(project: Any) -> None:
    source = "\n".join(
        f"def test_{name}(ask):\n    ask('{name}')\n    raise AssertionError('x')\n" for name in ("one", "two", "three")
    )
    project.test(source)
    ended = project.pytest("replay", "-n", "2", "tests/integration", stack="server", STACKPROOF_DEBUG="1")
    assert ended.counts.startswith("3 failed")
    parts = ended.out.split("Captured stderr of the stack call")[1:]
    assert len(parts) == 3, ended.out
    for part in parts:
        shown = part.partition("\n")[2].partition("\n___")[0].partition("\n---")[0]
        assert sum(f'{{"say":"{name}"}}' in shown for name in ("one", "two", "three")) == 1, shown
    assert len([block for block in blocks(log_of(project).read_text()) if "refused" in block]) == 3


def test_without_it_nothing_is_told(project: Any) -> None:
    project.test(ONE)
    ended = project.pytest("replay", stack="server")
    assert "looked in" not in ended.out
    assert list(project.root.rglob("debug.log")) == []
