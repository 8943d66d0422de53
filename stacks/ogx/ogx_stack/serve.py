"""`python -m ogx_stack.serve --host HOST --port PORT`: write the configuration, then become `ogx run`."""

from __future__ import annotations

import argparse
import os
import sys

from . import place


def main() -> None:
    """Does not return: OGX takes this process over, so that signals and its exit code are its own."""
    parser = argparse.ArgumentParser(prog="ogx_stack.serve")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True)
    given = parser.parse_args()
    os.environ.update(place.prepare(os.environ, host=given.host))
    # It writes its configuration once more, keys and all, and a signal leaves that file behind.
    os.environ["TMPDIR"] = place.temporary(os.environ)
    command = [sys.executable, "-m", "ogx.cli.ogx", "run", os.environ["OGX_CONFIG"], "--port", given.port, "--insecure"]
    os.execv(sys.executable, command)  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main()
