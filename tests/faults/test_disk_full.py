"""A file system without room: a real one, of 64 KiB, in a mount namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults import child

from stackproof.faults.claim import ClaimUnderTest

_SCRIPT = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'


@pytest.mark.claim("full-disk-keeps-what-was-there")
@pytest.mark.parametrize("how", ["retry", "reopen"])
def test_a_full_disk_fails_the_turn_and_keeps_what_was_there(claim: ClaimUnderTest, tmp_path: Path, how: str) -> None:
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    inner = [sys.executable, child.__file__, "full", str(tmp_path), how]
    done = subprocess.run(
        ["unshare", *own, "--mount", "sh", "-c", _SCRIPT, str(tmp_path), *inner],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    others = [file.name for file in tmp_path.iterdir()]
    claim.observed(events=told["events"], residue={**told["residue"], "on the disk of others": others})
