"""Run OGX's own integration tests with its recorder and under Stackproof, and compare.

    python -m ci.ogx_suite --checkout DIR --python EXE --tokenizers DIR [--suite NAME] [--theirs | --ours] [--into DIR]

DIR is a checkout of OGX at the commit that `what.COMMIT` names, EXE a Python in which it, what its tests import, and
Stackproof are installed. Nothing is written below the checkout but what OGX's script writes (server.log).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ci.ogx_suite import ours, page, project, surroundings, theirs
from ci.ogx_suite.measured import Measured
from ci.ogx_suite.what import COMMIT, SUITES, Suite


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ci.ogx_suite", description="OGX's own tests, on both recorders.")
    parser.add_argument("--checkout", type=Path, required=True, help=f"OGX at {COMMIT}")
    parser.add_argument("--python", type=Path, required=True, help="a Python with OGX and Stackproof in it")
    parser.add_argument("--tokenizers", type=Path, required=True, help="tiktoken's files, out of the litellm wheel")
    parser.add_argument("--into", type=Path, default=Path("ogx-suite"), help="a folder outside of both repositories")
    parser.add_argument("--suite", action="append", choices=[suite.name for suite in SUITES], help="may be repeated")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--theirs", action="store_true", help="only with OGX's own recorder")
    side.add_argument("--ours", action="store_true", help="only under Stackproof")
    return parser.parse_args(list(argv))


def main(argv: Sequence[str]) -> int:
    """0 when every test that has to pass does on our side (or, with --theirs, on theirs)."""
    options = _options(argv)
    checkout, into = options.checkout.resolve(), options.into.resolve()
    # Not resolved: a virtual environment is known by the link that its Python is.
    python = options.python.absolute()
    suites = [suite for suite in SUITES if not options.suite or suite.name in options.suite]
    runs: list[Measured] = []
    imported: dict[str, object] = {}
    folder = project.make(into / "project", checkout=checkout)
    if not options.theirs:
        told = project.bring_in(
            folder, checkout=checkout, python=python, environment=_surroundings(options, python, into / "import")
        )
        imported = {"files": told["files"], "imported": told["imported"], "refused": len(told["refused"])}
        print(f"imported {told['imported']} of {told['files']} files", flush=True)
    for suite in suites:
        runs += _both(suite, options, checkout=checkout, python=python, into=into, folder=folder)
    page.write(into, suites, runs, {"commit": _commit(checkout), "imported": imported})
    print((into / "table.md").read_text(encoding="utf-8"))
    judged = "theirs" if options.theirs else "ours"
    wanting = [suite.name for suite in suites for run in runs if _wants(suite, run, judged)]
    if wanting:
        print(f"fewer pass than have to: {', '.join(wanting)}", file=sys.stderr)
    return 1 if wanting else 0


def _both(
    suite: Suite, options: argparse.Namespace, *, checkout: Path, python: Path, into: Path, folder: Path
) -> list[Measured]:
    """The runs of one suite: theirs first, unless only one side is wanted."""
    runs = []
    if not options.ours:
        place = into / "theirs" / suite.name
        environment = _surroundings(options, python, place)
        runs.append(theirs.run(suite, checkout=checkout, environment=environment, folder=place))
    if not options.theirs:
        place = into / "ours" / suite.name
        environment = _surroundings(options, python, place)
        runs.append(
            ours.run(suite, checkout=checkout, project=folder, python=python, environment=environment, folder=place)
        )
    for run in runs:
        print(
            f"{suite.name:17}{run.side:7}{run.count('passed'):4} of {suite.expected}  {run.seconds:.1f} s", flush=True
        )
    return runs


def _surroundings(options: argparse.Namespace, python: Path, place: Path) -> dict[str, str]:
    return surroundings.make(
        python,
        tokenizers=options.tokenizers.resolve(),
        sockets=place / "sockets",
        first_test=place / "first_test",
    )


def _wants(suite: Suite, run: Measured, side: str) -> bool:
    return run.suite == suite.name and run.side == side and run.count("passed") < suite.expected


def _commit(checkout: Path) -> str:
    words = ["git", "-C", str(checkout), "rev-parse", "--short=9", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
