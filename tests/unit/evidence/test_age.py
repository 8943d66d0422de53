"""When files were changed, of which some go while somebody looks."""

from __future__ import annotations

import os
from pathlib import Path

from stackproof.evidence import age


def test_the_newest_comes_last_and_what_has_gone_first(tmp_path: Path) -> None:
    for name, when in (("newer", 20), ("older", 10)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (when, when))
    found = sorted((tmp_path / name for name in ("newer", "gone", "older")), key=age.changed)
    assert [path.name for path in found] == ["gone", "older", "newer"]
