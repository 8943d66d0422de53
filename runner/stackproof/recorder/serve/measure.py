"""Starts coverage.py in a Python process of a run that was asked for coverage; does nothing in any other.

The file is copied, alone, into a folder of the run that is on the process's path, beside a `sitecustomize` that calls
`start`. Each process leaves a mark, `HOST.PID.json`, which says whether it was measured and whether what was measured
has been written. A process that cannot be measured runs all the same: that is said before and after the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
from types import FrameType
from typing import Any

VARIABLE = "STACKPROOF_MEASURE"
"""Name of a JSON file: {"who", "marks", "data_file", "options": {name of coverage's: value}, "required"}."""

STARTED, SAVED, MISSING, REFUSED = "started", "saved", "missing", "refused"
# coverage's own; nobody reads them in the process that is measured, and where warnings are errors they would be some.
_WARNINGS = (
    "already-imported",
    "dynamic-conflict",
    "include-ignored",
    "module-not-imported",
    "module-not-measured",
    "module-not-python",
    "no-ctracer",
    "no-data-collected",
    "no-sysmon",
    "no-sysmon-context",
    "trace-changed",
)
_LACKING = 2
# It becomes the tests' process, and leaves a helper behind: neither is what is tested.
_LEADS_TO_TESTS = "stackproof.run.namespace"


_begun: set[int] = set()


def start() -> None:
    """Measure this process to its end, if the variable asks for it. Safe to call again."""
    path = os.environ.get(VARIABLE)
    if not path or _LEADS_TO_TESTS in sys.orig_argv or _begun:
        return
    # In a run within a run there are two folders that call this.
    _begun.add(os.getpid())
    try:
        with open(path, encoding="utf-8") as file:
            asked = json.load(file)
    except OSError:
        return  # asked by a run whose folder is not to be seen from here
    try:
        coverage: Any = importlib.import_module("coverage")
    except ImportError:
        _mark(asked, MISSING)
        if asked["required"] and not _anybody(asked):
            print(f"stackproof: --coverage needs the package coverage in {sys.executable}", file=sys.stderr, flush=True)
            os._exit(_LACKING)
        return
    try:
        _measure(coverage, asked)
    except Exception as error:
        # Whatever it is, it is not the stack's: an older version, a plugin that is not installed here.
        _mark(asked, REFUSED, f"coverage {coverage.__version__}: {error}")


def _measure(coverage: Any, asked: dict[str, Any]) -> None:
    measured = coverage.Coverage(data_file=asked["data_file"], data_suffix=True, config_file=False, messages=False)
    for name, value in asked["options"].items():
        measured.set_option(name, value)
    measured.set_option("run:disable_warnings", list(_WARNINGS))
    save = measured.save

    def kept() -> None:
        save()
        _mark(asked, SAVED)

    measured.save = kept
    measured.start()
    _mark(asked, STARTED)
    ended = False

    def end() -> None:
        nonlocal ended
        if not ended:
            ended = True
            measured.stop()
            measured.save()

    def told_to_end(signum: int, _: FrameType | None) -> None:
        # Whoever ends a group and each member of it says it twice: coverage's own handler would begin anew, within
        # what it is writing, and end the process before that is done.
        if not ended:
            end()
            plain(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)

    def set_signal(signalnum: int, handler: Any) -> Any:
        # A worker of gunicorn goes back to what is usual, and ends itself by the signal that it was told to end by.
        ours = signalnum == signal.SIGTERM and handler == signal.SIG_DFL
        previous = plain(signalnum, told_to_end if ours else handler)
        return signal.SIG_DFL if previous is told_to_end else previous

    def forked() -> None:
        # A child by fork has data of its own, and may be killed when its parent is not.
        nonlocal ended
        ended = False
        _mark(asked, STARTED)

    plain = signal.signal
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        set_signal(signal.SIGTERM, signal.SIG_DFL)
    vars(signal)["signal"] = set_signal
    atexit.register(end)
    os.register_at_fork(after_in_child=forked)


def _anybody(asked: dict[str, Any]) -> bool:
    """Whether a process of this kind is measured: then one that is not was started by it."""
    for name in os.listdir(asked["marks"]):
        with (
            contextlib.suppress(OSError, ValueError),
            open(os.path.join(asked["marks"], name), encoding="utf-8") as file,
        ):
            found = json.load(file)
            if found["who"] == asked["who"] and found["state"] in (STARTED, SAVED):
                return True
    return False


def _mark(asked: dict[str, Any], state: str, why: str = "") -> None:
    facts = {"who": asked["who"], "state": state, "why": why, "pid": os.getpid(), "python": sys.executable}
    name = os.path.join(asked["marks"], f"{os.uname().nodename}.{os.getpid()}.json")
    partial = f"{name}.tmp"
    with contextlib.suppress(OSError):
        os.makedirs(asked["marks"], exist_ok=True)
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.replace(partial, name)
