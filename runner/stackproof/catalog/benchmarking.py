"""A benchmark that a stack brings with it: a command that measures its own turns."""

from __future__ import annotations

from dataclasses import dataclass

from stackproof.catalog import templates
from stackproof.catalog.yaml_source import Section

TIMEOUT = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkSpec:
    """command: argv, run in the project's folder; {python}, {folder} (the stack's) and {result} in it are filled in.

    The command leaves at {result} what docs/benchmarks.md describes. timeout: seconds that it may take.
    """

    command: tuple[str, ...]
    timeout: float = TIMEOUT


def benchmark(section: Section) -> BenchmarkSpec | None:
    """The `benchmark` of a stack; None where it has none. UsageError when its command names no place for a result."""
    inner = section.section("benchmark", f"'benchmark' of {section.what}")
    if inner is None:
        return None
    inner.only("command", "timeout")
    command = inner.texts("command")
    templates.check(inner, "command", templates.BENCHMARK)
    if not any("{result}" in part for part in command):
        inner.fail(f"'command' of {inner.what} must say where the measured times go: {{result}}", key="command")
    return BenchmarkSpec(command=command, timeout=inner.seconds("timeout") or TIMEOUT)
