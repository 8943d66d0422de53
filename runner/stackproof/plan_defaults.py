"""What a run means that names neither suite nor stack: those of the project it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stackproof.catalog.records import Catalog, StackMode, StackSpec
from stackproof.errors import UsageError
from stackproof.options import RunOptions, Source

PLAIN = "library:package"
"""The stack of a project that describes none."""


def of_project(options: RunOptions, catalog: Catalog, project: Path) -> RunOptions:
    """The only suite, and the only stack, of a project are what a run means that names none.

    Of a stack's ways to run, `server` comes first, since it is what is shipped. A project that describes no stack is a
    package which its tests import. UsageError where it has several, since nobody else's is meant then.
    """
    usual = [name for name in ("suite", "stack_config") if options.sources.get(name, Source.DEFAULT) is Source.DEFAULT]
    own = [stack for stack in catalog.stacks.values() if stack.source.is_relative_to(project / "stacks")]
    if "suite" in usual and catalog.suites and options.suite not in catalog.suites:
        options = replace(options, suite=_own_suite(tuple(catalog.suites)))
    if "stack_config" in usual and not any(options.stack_config.endswith(f":{stack.name}") for stack in own):
        options = replace(options, stack_config=_own_stack(own))
    return options


def _own_suite(own: tuple[str, ...]) -> str:
    if len(own) > 1:
        raise UsageError(
            f"nothing says which suite is meant: this project has {', '.join(own)}",
            hint=f"--suite {own[0]}, or suite in [tool.stackproof] of pyproject.toml; several by comma",
        )
    return own[0]


def _own_stack(own: Sequence[StackSpec]) -> str:
    ways = [f"{StackMode.SERVER if StackMode.SERVER in each.modes else each.modes[0]}:{each.name}" for each in own]
    if len(ways) > 1:
        raise UsageError(
            f"nothing says which stack is meant: this project has {' and '.join(ways)}",
            hint=f"--stack-config {ways[0]}, or stack_config in [tool.stackproof] of pyproject.toml",
        )
    return ways[0] if ways else PLAIN
