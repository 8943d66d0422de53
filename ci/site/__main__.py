"""Build the documentation as a site, and check what was built.

    python -m ci.site [--into build/site] [--check DIR]

`--check` looks at a site that is there already. Exit codes: 0 built and sound, 1 something is wrong with it, 2 wrong
options, or no Zensical.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ci.site.building import BuildError, build
from ci.site.checking import problems

PROJECT = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ci.site", description=__doc__, formatter_class=_Plain)
    parser.add_argument("--into", type=Path, default=PROJECT / "build" / "site", help="default: build/site")
    parser.add_argument("--check", type=Path, metavar="DIR", help="check this site, build nothing")
    asked = parser.parse_args(argv)
    site: Path = asked.check or asked.into
    if asked.check is None:
        try:
            build(PROJECT, site)
        except BuildError as error:
            print(f"✗ {error}", file=sys.stderr)
            return error.exit_code
    elif not (site / "index.html").is_file():
        print(f"✗ there is no site in {site}: it has no index.html", file=sys.stderr)
        return 2
    found = list(problems(site))
    for problem in found:
        print(f"✗ {problem}", file=sys.stderr)
    pages = sum(1 for _ in site.rglob("*.html"))
    print(f"{pages} pages in {site}, {len(found)} problem{'' if len(found) == 1 else 's'}")
    if not found:
        print(f"read it: {site / 'index.html'}")
    return 1 if found else 0


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the docstring above."""


if __name__ == "__main__":
    sys.exit(main())
