"""What is on the engine belongs to a process; when that is gone for certain, it is nobody's."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from stackproof.stack import labels

NOW = time.time()


def test_what_a_living_process_owns_is_not_abandoned() -> None:
    mine = labels.of("7f3c2a", "reference", labels.owner(os.getpid()))
    assert mine[labels.RUN] == "7f3c2a"
    assert not labels.is_abandoned(mine, now=NOW)


def test_what_a_dead_process_owned_is() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owned = labels.of("7f3c2a", "reference", labels.owner(child.pid))
    assert not labels.is_abandoned(owned, now=NOW)
    child.communicate(b"\n", timeout=60)
    assert labels.is_abandoned(owned, now=NOW)


@pytest.mark.parametrize(
    ("changed", "abandoned"),
    [
        ({"host": "another-machine"}, False),
        ({"host": "another-machine", "expires": "1"}, True),
        ({"pid-start": "1"}, True),  # the number was given to another process
        ({"pid": "none"}, False),
        ({"expires": "soon"}, False),
    ],
)
def test_only_what_is_certain_counts(changed: dict[str, str], abandoned: bool) -> None:
    mine = labels.of("7f3c2a", "reference", labels.owner(os.getpid()))
    mine |= {labels.PREFIX + name: value for name, value in changed.items()}
    assert labels.is_abandoned(mine, now=NOW) is abandoned


def test_what_carries_other_labels_is_never_ours_to_judge() -> None:
    assert not labels.is_abandoned({"com.docker.compose.project": "shop"}, now=NOW)
