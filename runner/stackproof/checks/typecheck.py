"""`stackproof typecheck`: runs mypy with the project's own configuration and keeps what it said as evidence."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stackproof import console, nox_sessions
from stackproof.ci import guard, log
from stackproof.errors import ExitCode
from stackproof.evidence import digests, git, jsonfile, typecheck
from stackproof.evidence.typecheck import Message, TypecheckFacts, TypecheckState
from stackproof.run.rundir import new_run_dir
from stackproof.run.steps import alive
from stackproof.verdict import accepted, github
from stackproof.verdict.github import Annotation

DEADLINE = 1800.0  # seconds; a cold cache over a large project takes minutes
NAME = Path("checks/typecheck.json")


def run(
    project: Path, argv: Sequence[str], *, run_dir: Path | None = None, environ: Mapping[str, str] | None = None
) -> int:
    """Check types, print one line (and every error), write the evidence, and return the exit code.

    argv: paths and options for mypy; without any, mypy takes what the project's configuration names. 0 means no error
    but those that ci/expected/types.json accepts, 1 others, 7 that nothing was proven: mypy broke, or checked no file.
    """
    caller = os.environ if environ is None else environ
    run_dir = new_run_dir(project) if run_dir is None else run_dir
    borne = accepted.load(project)
    with log.fenced(caller):
        with alive("types", console.make(sys.stdout, caller)):
            facts = check(project, argv, run_dir)
        errors = accepted.beyond(facts.errors, borne)
        for message in errors:
            code = f"  [{message.code}]" if message.code else ""
            console.out(f"{message.file}:{message.line}: {message.severity}: {message.message}{code}")
        console.out(line(facts, errors))
        if errors or facts.state is TypecheckState.TOOL_FAILURE:
            console.out(_again(project, argv))
    for note in _notes(facts, errors) if github.is_wanted(caller) else ():
        guard.command(note.command())
    match facts.state:
        case TypecheckState.SUCCESS:
            return ExitCode.PASS
        case TypecheckState.ERRORS:
            return ExitCode.TESTS if errors else ExitCode.PASS
        case TypecheckState.TOOL_FAILURE:
            return ExitCode.NOT_PROVEN


def _again(project: Path, argv: Sequence[str]) -> str:
    nox = nox_sessions.has(project, "typecheck")
    words = ["nox", "-s", "typecheck", *(["--"] if argv else [])] if nox else ["stackproof", "typecheck"]
    return f"again: {shlex.join([*words, *argv])}"


def _notes(facts: TypecheckFacts, errors: Sequence[Message]) -> list[Annotation]:
    """Beside the lines; where nothing was checked, that."""
    broken = facts.state is TypecheckState.TOOL_FAILURE
    others = [Annotation(level="error", title="types: NOT PROVEN", message=summary(facts, errors))] if broken else []
    return github.chosen((), errors, others, title="types", where="the log")


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


def line(facts: TypecheckFacts, errors: Sequence[Message]) -> str:
    """What a person sees: one line. errors: those that nobody accepted."""
    mark = "?" if facts.state is TypecheckState.TOOL_FAILURE else "✗" if errors else "✓"
    return f"{mark} types  {summary(facts, errors)}"


def summary(facts: TypecheckFacts, errors: Sequence[Message]) -> str:
    """`2 errors in 61 files; first a.py:88`, and how many others are accepted."""
    files = f"{len(facts.files)} file{'' if len(facts.files) == 1 else 's'}"
    borne = len(facts.errors) - len(errors)
    more = f"; {borne} accepted in {accepted.FILE.as_posix()}" if borne else ""
    if facts.state is TypecheckState.TOOL_FAILURE:
        return f"not proven: {facts.reason}"
    if not errors:
        return f"no {'other ' if borne else ''}error in {files}{more}"
    number = len(errors)
    return f"{number} error{'' if number == 1 else 's'} in {files}; first {errors[0].file}:{errors[0].line}{more}"
