"""Gives the Python of a job what another environment has installed, so that only what differs is installed anew.

A rehearsal is faster by that, and proves less: that the package index has everything is taken for granted.
"""

from __future__ import annotations

import os
from pathlib import Path


def sow(place: Path, seed: Path) -> bool:
    """Let an environment import what lies in another one and start its programs; False where the versions differ."""
    (own,) = place.glob("lib/python3.*/site-packages")
    theirs = seed / own.relative_to(place)
    if not theirs.is_dir():
        return False
    # A plain path: what is installed there as editable stays there, and the job's own comes first.
    (own / "rehearsal-seed.pth").write_text(f"{theirs}\n")
    for program in sorted((seed / "bin").iterdir()):
        target = place / "bin" / program.name
        if target.exists() or not program.is_file():
            continue
        start, _, rest = program.read_bytes().partition(b"\n")
        if start.startswith(f"#!{seed / 'bin' / 'python'}".encode()):
            target.write_bytes(f"#!{place / 'bin' / 'python'}\n".encode() + rest)
            target.chmod(0o755)
        elif not start.startswith(b"#!") and os.access(program, os.X_OK) and not program.is_symlink():
            target.symlink_to(program)
    return True
