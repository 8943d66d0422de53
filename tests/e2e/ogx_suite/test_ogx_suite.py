"""OGX's own tests of Messages, unchanged, replayed from OGX's own recordings under this project.

Needs what this project does not bring: OGX_SUITE_CHECKOUT, a checkout of OGX at the commit that `ci/ogx_suite/what.py`
names; OGX_SUITE_PYTHON, a Python in which it and this project are installed; OGX_SUITE_TOKENIZERS, tiktoken's files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_GIVEN = ("OGX_SUITE_CHECKOUT", "OGX_SUITE_PYTHON", "OGX_SUITE_TOKENIZERS")


@pytest.mark.timeout(400)
def test_a_suite_of_ogx_replays_unchanged_and_reaches_nobody(tmp_path: Path) -> None:
    absent = [name for name in _GIVEN if not os.environ.get(name)]
    if absent:
        pytest.skip(f"OGX's own tests need a checkout of OGX and an environment that has it: {', '.join(absent)}")
    options = [f"--{name.rpartition('_')[2].lower()}={os.environ[name]}" for name in _GIVEN]
    words = [sys.executable, "-m", "ci.ogx_suite", *options, "--suite=messages", "--ours", f"--into={tmp_path}"]
    before = _status()
    done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True, timeout=380, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads((tmp_path / "table.json").read_text())["runs"]
    assert (run["code"], list(run["tests"].values())) == (0, ["passed"] * 13)
    assert run["sockets"] == {}
    assert _status() == before, "the checkout is as it was"


def _status() -> str:
    words = ["git", "-C", os.environ["OGX_SUITE_CHECKOUT"], "status", "--short"]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
