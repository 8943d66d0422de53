"""Who is told that processes have ended finds none of them."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest

from stackproof.stack import lifetime, proctable

# Deaf, and with so much memory that the kernel takes a while to take it back.
_DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = bytearray(b"x" * (150 << 20))
print("deaf", flush=True)
time.sleep(900)
"""


@pytest.mark.skipif(not proctable.available(), reason="reads /proc")
def test_what_was_killed_has_ended_when_that_is_said() -> None:
    marker = f"STACKPROOF_TEST={uuid.uuid4().hex}"
    name, _, value = marker.partition("=")
    deaf = [
        subprocess.Popen([sys.executable, "-c", _DEAF], env={**os.environ, name: value}, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for each in deaf:
            assert each.stdout is not None
            assert each.stdout.readline() == b"deaf\n"
        assert lifetime.end_marked(marker, grace=0.1) == {each.pid for each in deaf}
        states = [proctable.entry(each.pid) for each in deaf]
        assert [state is not None and state.running for state in states] == [False, False]
    finally:
        for each in deaf:
            each.kill()
            each.communicate(timeout=60)
