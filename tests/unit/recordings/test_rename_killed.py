"""SIGKILL before every single change to the file system: the same command, given again, ends what was begun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# A process of its own, as small as possible: it forks for each place in which its child is killed.
_PROGRAM = r"""
import contextlib, io, json, os, shutil, signal, sys
from pathlib import Path
from stackproof.cli import main as cli
from stackproof.recorder import recording
from stackproof.recordings.relocating import place

project = Path(sys.argv[1])
root = project / "recordings"
OLD, NEW = "tests/integration/base", "tests/integration/base/deep"
countdown = 0


def watch(event, args):
    global countdown
    changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate") or (
        event == "open" and args[2] is not None and args[2] & (os.O_WRONLY | os.O_RDWR))
    if countdown and changes:
        countdown -= 1
        if not countdown:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(watch)


def content(scope, say, body):
    return {
        "format": 1, "test_id": scope, "scope": scope,
        "request": {"provider": "p", "method": "POST", "url": "{P_URL}/x", "path": "/x", "query": [], "endpoint": "/x",
                    "model": None, "headers": {}, "body": {"json": {"say": say}}},
        "response": {"status": 200, "headers": {}, "is_streaming": False, "body": body, "complete": True,
                     "is_exception": False, "exception": None},
        "rules": [], "provenance": {}, "id_normalization_mapping": {},
    }


def fresh():
    shutil.rmtree(project, ignore_errors=True)
    for scope, say, number, body in (
        (f"{OLD}/test_a.py::t", "poll", 1, {"json": "outer 1"}),
        (f"{OLD}/test_a.py::t", "poll", 2, {"json": "outer 2"}),
        (f"{OLD}/test_a.py::t", "large", 1, {"bytes": b"\xff\x00" * 35_000}),
        (f"{OLD}/deep/test_a.py::t", "poll", 1, {"json": "inner 1"}),
        (f"{OLD}/deep/test_a.py::t", "large", 1, {"bytes": b"\xfe\x01" * 35_000}),
        (f"fixture:{OLD}::client", "poll", 1, {"json": "wide"}),
    ):
        made = content(scope, say, body)
        recording.write(str(root / place("s", made, number, "tests/integration")), made)


def rename():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told:
        code = cli.main(["recordings", "rename", OLD, NEW], environ={}, project=project)
    if code:
        print(told.getvalue(), file=sys.stderr)
    return code


def killed_at(number):
    # Whether a child that renames was killed before its change number `number`.
    global countdown
    pid = os.fork()
    if not pid:
        try:
            countdown = number
            code = rename()
        except BaseException as error:
            print(f"at {number}: {error!r}", file=sys.stderr)
            os._exit(3)
        os._exit(int(code))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, status
    return False


def files():
    return {p.relative_to(root).as_posix(): p.read_bytes().hex() for p in sorted(root.rglob("*")) if p.is_file()}


fresh()
before = files()
assert rename() == 0
after = files()
again, states, number = [], 0, 0
while True:
    number += 1
    fresh()
    if not killed_at(number):
        break
    at_once = {name: data for name, data in files().items() if not name.startswith(".moving/")}
    ordered = (root / ".moving/order.json").exists()
    if ordered or at_once == before:
        # A kill in the middle of the second attempt, in another place each time, is recovered from as well.
        killed_at(1 + number * 7 % 13)
        if files() != after:
            assert rename() == 0
    again.append({"number": number, "ordered": ordered, "untouched": at_once == before, "right": files() == after,
                  "whole": all(name in at_once for name in before if name.endswith(".json")) or
                           all(name in at_once for name in after if name.endswith(".json"))})
print(json.dumps(again))
"""


def test_a_kill_at_any_moment_is_ended_by_the_same_command(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    command = [sys.executable, str(program), str(tmp_path / "project")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    states = json.loads(ended.stdout)
    assert len(states) > 40
    for state in states:
        assert state["right"], state
        assert state["whole"], "no old file goes before every new one is there"
    touched = [not state["untouched"] for state in states]
    assert sorted(touched) == touched, "before the order nothing happens"
    assert {False, True} == set(touched) == {state["ordered"] for state in states}
