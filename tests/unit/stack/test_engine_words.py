"""What an engine refuses is told in its own words, with the remedy where one is known."""

from __future__ import annotations

import pytest

from stackproof.stack.engine_words import ENGINE_LOG, refused


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("container create: container-init binary not found on the host: stat …: no such file", "`catatonit`"),
        ("runc: runc create failed: error setting rlimits for ready process: error setting rlimit type 7", "ulimits"),
        ('cannot set up namespace using "/usr/bin/newuidmap": exit status 1', "/etc/subuid"),
        ("conflict: the container name is already in use", ENGINE_LOG),
    ],
)
def test_the_remedy_fits_what_was_said(said: str, remedy: str) -> None:
    found = refused(said)
    assert found.text == said
    assert remedy in found.remedy
