"""The benchmarks that stacks bring with them: their commands are run, and what they measured is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackproof import catalog
from stackproof.catalog.benchmarking import BenchmarkSpec
from stackproof.catalog.records import StackMode, StackSpec
from stackproof.catalog.templates import filled
from stackproof.errors import StackStartError
from stackproof.evidence import benchmark, jsonfile
from stackproof.evidence.benchmark import BenchmarkLine
from stackproof.stack import interpreter, step
from stackproof.stack.process import Process, tail

SEPARATOR = ":"
_LEFT_OUT = "STACKPROOF_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What one command measured. problem: one sentence, why nothing, None where something was."""

    lines: tuple[BenchmarkLine, ...] = ()
    problem: str | None = None


def of_project(project: Path) -> dict[str, StackSpec]:
    """The project's own stacks that have a benchmark, by name; those that come with Stackproof are not its release."""
    root = project.resolve()
    return {
        name: stack
        for name, stack in catalog.load(project).stacks.items()
        if stack.benchmark is not None and stack.source.resolve().is_relative_to(root)
    }


def wanted(stacks: Mapping[str, StackSpec], names: Iterable[str] | None) -> dict[str, StackSpec]:
    """Those whose lines are among `names` (`<stack>:<benchmark>`); all of them for None."""
    asked = None if names is None else {name.partition(SEPARATOR)[0] for name in names if SEPARATOR in name}
    return {name: stack for name, stack in stacks.items() if asked is None or name in asked}


def measured(
    stack: StackSpec, spec: BenchmarkSpec, *, project: Path, folder: Path, environ: Mapping[str, str]
) -> Measured:
    """Run the command of a stack in `project`; its lines are named `<stack>:<name>`. folder: for result and log."""
    log, result = folder / f"{stack.name}.log", folder / f"{stack.name}.json"
    try:
        python = interpreter.choose(stack, StackMode.SERVER, environment=environ, say=_nobody, check=_never)
        values = {"python": str(python), "folder": str(stack.folder), "result": str(result)}
        process = Process(
            name=f"the benchmark of {stack.name}",
            command=[filled(part, values) for part in spec.command],
            environment=_environment(stack, environ),
            cwd=project,
            log=log,
        )
        step.done(process, log, timeout=spec.timeout, check=_never, taking=process.name)
    except StackStartError as error:
        said = [line for line in tail(log) if line.strip()] if log.is_file() else []
        return Measured(problem=f"{error}{f': {said[-1].strip()}' if said else ''}")
    return _read(stack.name, result)


def _read(stack: str, result: Path) -> Measured:
    data = jsonfile.read(result)
    if data is None:
        return Measured(problem=f"the benchmark of {stack} left no JSON object at {{result}}")
    try:
        lines = benchmark.lines_of(data).values()
    except (KeyError, TypeError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
        return Measured(problem=f"what the benchmark of {stack} left at {{result}} is no list of times ({text})")
    if not lines:
        return Measured(problem=f"the benchmark of {stack} measured nothing")
    return Measured(lines=tuple(replace(line, name=f"{stack}{SEPARATOR}{line.name}") for line in lines))


def _environment(stack: StackSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's without what another run of ours has left in it, and the stack's own folders to import from."""
    clean = {name: value for name, value in environ.items() if not name.startswith(_LEFT_OUT)}
    paths = [str(path.resolve()) for path in stack.python_path]
    given = environ.get("PYTHONPATH")
    clean["PYTHONPATH"] = os.pathsep.join([*paths, *([given] if given else [])])
    return clean


def _nobody(_: str) -> None:
    """Whatever is installed for a stack was said by its cells."""


def _never() -> None:
    """Nobody ends a benchmark but the keyboard and the clock."""
