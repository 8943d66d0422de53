"""The recorder cannot import the package that it comes with, so it says the version itself: it must be the same one."""

from __future__ import annotations

import stackproof
from stackproof.recorder.interaction import VERSION


def test_recordings_name_the_version_that_made_them() -> None:
    assert stackproof.__version__ == VERSION
