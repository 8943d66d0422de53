"""`python -m ci.lint`: what CI runs, checked by the tools that know it.

actionlint, zizmor, check-jsonschema and shellcheck come with the dev extra and ask the network for nothing. A tool that
is not in this environment is a failure, never a skip.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
WORKFLOWS, ACTIONS = ".github/workflows/*.yml", ".github/actions/*/action.yml"
DEPENDABOT = ".github/dependabot.yml"
GITLAB = (".gitlab-ci.yml", "ci/gitlab-*.yml")
_LONGEST = 300  # seconds for one tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One call of a tool. files: patterns below the project; one that no file matches fails the check."""

    tool: str
    arguments: tuple[str, ...]
    files: tuple[str, ...]


def checks(tools: Path) -> tuple[Check, ...]:
    """All of them, in the order in which they run; tools: the folder with the programs of this environment."""
    return (
        Check(
            tool="actionlint",
            # It checks the scripts inside workflows with the second program; there is no Python in them.
            arguments=("-no-color", "-shellcheck", str(tools / "shellcheck"), "-pyflakes", ""),
            files=(WORKFLOWS,),
        ),
        Check(
            tool="zizmor",
            arguments=("--offline", "--quiet", "--no-progress", "--persona=auditor", "--config=.github/zizmor.yml"),
            files=(WORKFLOWS, ACTIONS, DEPENDABOT),
        ),
        _by_schema("vendor.github-workflows", WORKFLOWS),
        _by_schema("custom.github-workflows-require-timeout", WORKFLOWS),
        _by_schema("vendor.github-actions", ACTIONS),
        _by_schema("vendor.dependabot", DEPENDABOT),
        _by_schema("vendor.gitlab-ci", *GITLAB, more=("--data-transform", "gitlab-ci")),
        Check(tool="shellcheck", arguments=("--severity", "warning"), files=(".ci/*", "ci/*")),
    )


def _by_schema(name: str, *files: str, more: tuple[str, ...] = ()) -> Check:
    """A check with a schema that check-jsonschema carries."""
    return Check(tool="check-jsonschema", arguments=("--builtin-schema", name, *more), files=files)


def main(argv: Sequence[str]) -> int:
    """Run every check, also after one that found something; 1 when any did, 2 for a wrong command line."""
    if argv:
        print(f"python -m ci.lint takes no arguments, and got {' '.join(argv)}", file=sys.stderr)
        return 2
    tools = Path(sysconfig.get_path("scripts"))
    missing = sorted({check.tool for check in checks(tools) if not (tools / check.tool).is_file()})
    if missing:
        print(f"{', '.join(missing)} cannot be run: not in {tools}", file=sys.stderr)
        print("hint: pip install -e '.[dev]' -c constraints.txt installs what lint needs", file=sys.stderr)
        return 1
    return max([run(check, tools) for check in checks(tools)])


def run(check: Check, tools: Path) -> int:
    """Run one check and show what it found; 0 or 1."""
    files = {pattern: list(found(pattern)) for pattern in check.files}
    name = " ".join([check.tool, *(word for word in check.arguments if "." in word and "/" not in word)])
    if lacking := [pattern for pattern, matching in files.items() if not matching]:
        print(f"{name}: there is no {' or '.join(lacking)}", file=sys.stderr)
        return 1
    every = [file for matching in files.values() for file in matching]
    command = [str(tools / check.tool), *check.arguments, *every]
    try:
        done = subprocess.run(command, cwd=PROJECT, timeout=_LONGEST, check=False, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        print(f"{name}: no end after {_LONGEST} s", file=sys.stderr)
        return 1
    if done.returncode:
        print(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
        return 1
    print(f"{name}: {len(every)} file{'' if len(every) == 1 else 's'} in order")
    return 0


def found(pattern: str) -> Iterator[str]:
    """Files below the project that match, as paths from there; of those without a suffix, programs for bash."""
    for path in sorted(PROJECT.glob(pattern)):
        if pattern.endswith(path.suffix) if path.suffix else _is_for_bash(path):
            yield path.relative_to(PROJECT).as_posix()


def _is_for_bash(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
