"""`stackproof typecheck`: runs mypy with the project's own configuration and keeps what it said as evidence."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from stackproof import console
from stackproof.errors import ExitCode
from stackproof.evidence import digests, git, jsonfile, typecheck
from stackproof.evidence.typecheck import TypecheckFacts, TypecheckState
from stackproof.run.rundir import new_run_dir

DEADLINE = 1800.0  # seconds; a cold cache over a large project takes minutes
NAME = Path("checks/typecheck.json")


def run(project: Path, argv: Sequence[str], *, run_dir: Path | None = None) -> int:
    """Check types, print one line (and every error), write the evidence, and return the exit code.

    argv: paths and options for mypy; without any, mypy takes what the project's configuration names. 0 means no error,
    1 errors, 7 that nothing was proven: mypy broke, or checked no file.
    """
    run_dir = new_run_dir(project) if run_dir is None else run_dir
    facts = check(project, argv, run_dir)
    for message in facts.errors:
        code = f"  [{message.code}]" if message.code else ""
        console.out(f"{message.file}:{message.line}: {message.severity}: {message.message}{code}")
    console.out(line(facts))
    match facts.state:
        case TypecheckState.SUCCESS:
            return ExitCode.PASS
        case TypecheckState.ERRORS:
            return ExitCode.TESTS
        case TypecheckState.TOOL_FAILURE:
            return ExitCode.NOT_PROVEN


def check(project: Path, argv: Sequence[str], run_dir: Path) -> TypecheckFacts:
    """Run mypy, write `run_dir/checks/typecheck.json` and return the facts in it."""
    roots = [argument for argument in argv if not argument.startswith("-") and (project / argument).exists()]
    command = [sys.executable, "-m", "mypy", "--output=json", "--verbose", *argv]
    started, clock = datetime.now(UTC), time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=project,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DEADLINE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        facts = typecheck.interpret(
            exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr, project=project, roots=roots
        )
    except subprocess.TimeoutExpired:
        facts = TypecheckFacts(
            state=TypecheckState.TOOL_FAILURE, exit_code=-1, reason=f"mypy did not end within {DEADLINE:.0f} s"
        )
    source = git.state(project)
    content = typecheck.to_json(
        facts,
        command=["python", *command[1:]],
        commit=source.commit,
        dirty=source.dirty,
        policy=digests.policy(project),
        started=started.isoformat(timespec="milliseconds"),
        seconds=round(time.monotonic() - clock, 3),
    )
    jsonfile.write(run_dir / NAME, content)
    return facts


def line(facts: TypecheckFacts) -> str:
    """What a person sees: one line."""
    mark = "✓" if facts.state is TypecheckState.SUCCESS else "✗" if facts.state is TypecheckState.ERRORS else "?"
    return f"{mark} types  {summary(facts)}"


def summary(facts: TypecheckFacts) -> str:
    """`2 errors in 61 files; first a.py:88`."""
    files = f"{len(facts.files)} file{'' if len(facts.files) == 1 else 's'}"
    match facts.state:
        case TypecheckState.TOOL_FAILURE:
            return f"not proven: {facts.reason}"
        case TypecheckState.ERRORS:
            first, number = facts.errors[0], len(facts.errors)
            return f"{number} error{'' if number == 1 else 's'} in {files}; first {first.file}:{first.line}"
        case TypecheckState.SUCCESS:
            return f"no error in {files}"
