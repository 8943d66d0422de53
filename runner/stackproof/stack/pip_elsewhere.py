"""pip for the Python of another machine: `python -P pip_elsewhere.py download …`, with facts in MARKERS.

`pip download --python-version --platform` picks wheels for there, yet takes markers (`; sys_platform == "linux"`,
`; python_full_version < "3.11.3"`) for here: what only the other Python needs would be left out. Any Python
that has pip runs it: nothing else of ours is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

MARKERS = "STACKPROOF_MARKERS"
"""Holds a JSON object: names of PEP 508's environment markers, each with what it is in the other Python."""


def main() -> int:
    """pip's own exit code."""
    facts = json.loads(os.environ.pop(MARKERS))
    markers: Any = importlib.import_module("pip._vendor.packaging.markers")
    here = markers.default_environment
    markers.default_environment = lambda: {**here(), **facts}
    pip: Any = importlib.import_module("pip._internal.cli.main")
    return int(pip.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
