"""What a suite of another runner than pytest cannot be asked for, said before anything starts."""

from __future__ import annotations

from stackproof.catalog.records import StackMode, SuiteSpec
from stackproof.catalog.runners import OPTIONS
from stackproof.errors import UsageError
from stackproof.option_table import OPTIONS as KNOWN
from stackproof.options import RunOptions


def check(suite: SuiteSpec, mode: StackMode, stack: str, options: RunOptions) -> None:
    """UsageError where the suite's runner cannot do what was asked; nothing for a suite of pytest."""
    runner = suite.runner
    if runner is None:
        return
    if mode in (StackMode.LIBRARY, StackMode.DOCKER_LIBRARY):
        raise UsageError(
            f"suite {suite.name!r} is run by {runner.name}, which cannot call a stack in its own process "
            f"({mode.value}:{stack})",
            hint=f"--stack-config server:{stack} or docker:{stack}",
        )
    if options.collect_only:
        raise UsageError(
            f"--collect-only: {runner.name} runs suite {suite.name!r}, and only pytest can list its tests",
            hint="name a suite that pytest runs with --suite NAME",
        )
    for option in KNOWN:
        given = option.name in OPTIONS and getattr(options, option.name) is not None
        if given and option.name not in runner.options:
            raise UsageError(
                f"{option.flag}: suite {suite.name!r} does not say how {runner.name} is told",
                hint=f"add {option.name!r} to `options` of its `runner` in {suite.source.name}",
            )
