"""SIGKILL before every single change to the file system: no half file, and what was begun can be finished exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# A process of its own, as small as possible: it forks for each place in which its child is killed.
_PROGRAM = r"""
import json, os, shutil, signal, sys
from pathlib import Path
from stackproof.recorder import scope as scopes, store
from stackproof.recorder.brain import Brain
from stackproof.recorder.decision import Answer, Record
from stackproof.recorder.interaction import Request
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Provider, Settings
from stackproof.recordings import promote as promotion

root, mode, said, name = Path(sys.argv[1]), Mode.parse(sys.argv[2]), sys.argv[3], sys.argv[4]
OWNER = Scope(name=name, test_id=None if name.startswith("fixture:") else name)
URL = "http://127.0.0.1:9/v1"
OLD_LARGE, NEW_LARGE = b"\xff\x00" * 35_000, b"\xfe\x01" * 35_000
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


def settings(run, mode):
    run_dir = root / ".stackproof/runs" / run / "cells/c"
    run_dir.mkdir(parents=True, exist_ok=True)
    made = Settings(mode=mode, recordings=str(root / "recordings"), setup="s", run_dir=str(run_dir), run_id="0a1b2c",
                    providers=(Provider(name="p", variable="P_URL", prefixes=(URL,)),))
    if not (run_dir / "recorder.json").exists():
        (run_dir / "recorder.json").write_text(made.to_json())
    return made


def ask(brain, say):
    body = json.dumps({"say": say}).encode()
    with scopes.use(OWNER):
        head = {"content-type": "application/json"}
        return brain.ask(Request(method="POST", url=URL + "/x", headers=head, body=body))


def record(brain, say, answer, status=200):
    decision = ask(brain, say)
    if isinstance(decision, Record):
        large = isinstance(answer, bytes)
        head = {"content-type": "audio/mpeg" if large else "application/json"}
        decision.take.start(status, head, head)
        decision.take.feed(answer if large else json.dumps({"a": answer}).encode())
        decision.take.end()


def first():
    brain = Brain(settings("000001", Mode.RECORD), {})
    for say, answer in (("poll", "old 1"), ("poll", "old 2"), ("poll", "old 3"), ("gone", "old"), ("large", OLD_LARGE)):
        record(brain, say, answer)
    brain.store.promote(OWNER, replace=True)
    brain.ledger.close()


def second():
    brain = Brain(settings("000002", mode), {})
    for say, answer, status in (
        *((*(("poll", "", 200),) * 3, ("large", b"", 200)) if mode is Mode.RECORD_IF_MISSING else ()),
        ("poll", "not kept", 500), ("poll", "new 1", 200), ("poll", "not kept", 500), ("poll", "new 2", 200),
        ("large", NEW_LARGE, 200), ("added", "new", 200), ("added", "again", 200),
    ):
        record(brain, say, answer, status)
    if said == "before":
        say_passed()
    brain.store.promote(OWNER, replace=mode is Mode.RECORD, prune=True)
    if said == "after":
        say_passed()
    brain.ledger.close()


def say_passed():
    cell = root / ".stackproof/runs/000002/cells/c"
    with (cell / "tests.jsonl").open("a") as file:
        line = {"event": "test", "nodeid": name, "outcome": "passed", "attempt": 1, "duration": 0.1}
        file.write(json.dumps(line) + "\n")
    if name.startswith("fixture:"):
        with (cell / "shared.jsonl").open("a") as file:
            file.write(json.dumps({"scope": name}) + "\n")


def recover():
    store._ABANDONED = 0.0  # nobody else writes here, so what a killed process left can go at once
    promotion.promote(root / ".stackproof/runs/000002")


def replay(run):
    brain = Brain(settings(run, Mode.REPLAY), {})
    told = {}
    for say in ("poll", "gone", "large", "added"):
        told[say] = []
        while True:
            decision = ask(brain, say)
            assert isinstance(decision, Answer)
            raw = b"".join(decision.chunks)
            if decision.status == 424:
                code = json.loads(raw)["error"]["code"]
                if code not in ("recording_exhausted", "recording_no-match", "recording_nothing-recorded"):
                    told[say].append(code)
                break
            told[say].append(raw[:2].hex() if len(raw) > 1000 else json.loads(raw)["a"])
    brain.ledger.close()
    shutil.rmtree(root / ".stackproof/runs" / run)
    return told


def killed_in(what, number):
    # Whether a child that does `what` was killed before its change number `number`.
    global countdown
    pid = os.fork()
    if not pid:
        try:
            countdown = number
            what()
        except BaseException as error:
            print(f"{what.__name__} at {number}: {error!r}", file=sys.stderr)
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, status
    return False


def files():
    return sorted(p.name for p in (root / "recordings").rglob("*") if p.is_file())


def fresh():
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(kept, root)


kept = root.parent / "kept"
first()
settings("000002", mode)
shutil.copytree(root, kept)
old = replay("0000aa")
second()
new = replay("0000bb")
whole = files()
states, number = [], 0
while True:
    number += 1
    fresh()
    if not killed_in(second, number):
        break
    at_once = replay("0000cc")
    # A kill in the middle of the recovery, in another place each time, is recovered from as well.
    twice = killed_in(recover, 1 + number * 7 % 13)
    recover()
    states.append({"number": number, "at_once": at_once, "then": replay("0000ee"), "files": files()})
print(json.dumps({"old": old, "new": new, "whole": whole, "states": states}))
"""


def _run(folder: Path, *arguments: str) -> Any:
    program = folder / "program.py"
    program.write_text(_PROGRAM)
    command = [sys.executable, str(program), str(folder / "project"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


_TEST, _FIXTURE = "tests/integration/base/test_it.py::test_it", "fixture:tests/integration/base::wide"


@pytest.mark.parametrize(
    ("mode", "said", "name"),
    [
        ("record", "before", _TEST),
        ("record-if-missing", "after", _FIXTURE),
    ],
)
def test_a_kill_at_any_moment_costs_nothing_that_was_there(tmp_path: Path, mode: str, said: str, name: str) -> None:
    found = _run(tmp_path, mode, said, name)
    old, new, states = found["old"], found["new"], found["states"]
    assert old == {"poll": ["old 1", "old 2", "old 3"], "gone": ["old"], "large": ["ff00"], "added": []}
    added = {"large": ["fe01"], "gone": [], "poll": ["new 1", "new 2"], "added": ["new", "again"]}
    kept = {**old, "poll": [*old["poll"], "new 1", "new 2"], "large": ["ff00", "fe01"], "added": ["new", "again"]}
    assert new == (added if mode == "record" else kept)
    assert len(states) > 40
    for state in states:
        for say, answers in state["at_once"].items():
            # Each answer in its place is the one that was there, or the one that comes there.
            assert {*enumerate(answers)} <= {*enumerate(old[say]), *enumerate(new[say])}, state
        assert state["then"] in (old, new), state
        if state["then"] == new:
            assert state["files"] == found["whole"], state
    outcomes = ["new" if state["then"] == new else "old" for state in states]
    assert sorted(outcomes, reverse=True) == outcomes, "once it is decided, it stays decided"
    assert set(outcomes) == {"new", "old"}
