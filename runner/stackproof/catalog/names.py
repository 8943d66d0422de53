"""Which names may be given to setups, stacks, services and suites."""

from __future__ import annotations

import re

from stackproof.catalog.yaml_source import Section

# No more than a file name can hold of four of them, and no dot at the end, which Windows drops.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9_-])?")


def check_name(section: Section, kind: str, name: str) -> str:
    """Return `name`, or raise a UsageError: names become folders and parts of file names."""
    if not _NAME.fullmatch(name):
        section.fail(
            f"{kind} name {name!r} may hold letters, digits, '.', '_' and '-' only, at most 50, and no '.' at its end",
            key=name,
        )
    return name
