"""A lock is given back when its holder has done, whatever was forked meanwhile and goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A process of its own: one with threads, as that of a worker of xdist has, is not to be forked.
SCRIPT = """
import os, sys
from pathlib import Path
from stackproof.recorder import sidefile
from stackproof.recorder.budget import Budget, Limits
from stackproof.recorder.ledger import Ledger
from stackproof.recordings import carrying
from stackproof.stack import service
from stackproof.trace import locking

folder = Path(sys.argv[1])
budget = Budget(Limits(requests=9), Ledger(str(folder)))
hold = {
    "budget": budget._account,
    "folder": lambda: sidefile.held(str(folder / "recording.json")),
    "trace": lambda: locking.writing(folder / "trace.jsonl"),
    "recordings": lambda: carrying.alone(folder),
    "service": lambda: service.locked(folder / "service.lock", "it", lambda: None),
}[sys.argv[2]]
asks, tells = os.pipe()
with hold():
    child = os.fork()
    if not child:
        os.close(tells)
        os.read(asks, 1)
        os._exit(0)
with hold():
    print("held again", flush=True)
os.close(tells)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("lock", ["budget", "folder", "trace", "recordings", "service"])
def test_a_child_that_was_forked_meanwhile_does_not_keep_it(lock: str, tmp_path: Path) -> None:
    # Whoever waits in vain is ended with its child, which reads the end of the pipe then.
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), lock], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.returncode) == ("held again\n", 0), ended.stderr
