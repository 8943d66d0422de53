"""`stackproof verify-release`: runs everything that the policy lists and gives one verdict."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from rich.console import Console

from stackproof import console, parts
from stackproof.checks import claims
from stackproof.ci import guard, log
from stackproof.errors import UsageError
from stackproof.lanes import covered
from stackproof.parts import Parts
from stackproof.plaintext import counted
from stackproof.recorder import redact
from stackproof.run.interrupts import Interrupts
from stackproof.run.rundir import new_run_id
from stackproof.run.steps import Telling
from stackproof.verdict import compared, policy, publish, render, terminal
from stackproof.verdict.records import Verdict
from stackproof.verdict.weigh import weigh

CLAIM, AT_ONCE = "--claim", "--cells-at-once"


def main(project: Path, argv: Sequence[str]) -> int:
    """The command: `verify-release [--json] [--cells-at-once N]`, or `--claim NAME…`, which runs those alone."""
    if argv and argv[0] == CLAIM:
        names = [argument for argument in argv if argument != CLAIM]
        return claims.run(project, names, environ=os.environ)
    as_json, at_once = _asked(argv)
    return verify(project, environ=os.environ, today=datetime.now(UTC).date(), as_json=as_json, at_once=at_once)


def _asked(argv: Sequence[str]) -> tuple[bool, int]:
    """Whether JSON is wanted, and how many cells at a time; UsageError for anything else."""
    words, as_json, at_once = list(argv), False, 1
    while words:
        word, equals, value = words.pop(0).partition("=")
        if word == "--json" and not equals:
            as_json = True
        elif word == AT_ONCE:
            number = value if equals else next(iter(words), "")
            del words[: 0 if equals else 1]
            if not (number.isascii() and number.isdigit() and int(number)):
                raise UsageError(
                    f"{AT_ONCE}: {number!r} is not a whole number of at least 1", hint=f"for example {AT_ONCE} 2"
                )
            at_once = int(number)
        else:
            raise UsageError(
                f"stackproof verify-release does not know {word!r}",
                hint=f"it takes --json, {AT_ONCE} N, or {CLAIM} NAME",
            )
    return as_json, at_once


def verify(project: Path, *, environ: Mapping[str, str], today: date, as_json: bool = False, at_once: int = 1) -> int:
    """Run cells, types and benchmarks into one run folder, weigh it, print and write the verdict; its exit code.

    at_once: cells that run side by side; checks never do. UsageError when the policy, or something that it names, does
    not exist: then nothing is run. An interrupted run leaves a verdict over what there is, and ends with the code of
    the signal.
    """
    rules = policy.load(project)
    run_id = new_run_id(project)
    planned = parts.plans(rules.cells, project, run_id, environ)
    whole = Parts(
        project=project,
        run_id=run_id,
        rules=rules,
        plans=planned,
        checks=covered.asked(rules),
        kind="release",
        at_once=at_once,
    )
    # With --json nothing but the verdict is printed.
    shown = Console(quiet=True) if as_json else console.make(sys.stdout, environ)
    say = (lambda _: None) if as_json else console.told
    steps = parts.steps_of(whole)
    # A signal that comes while the verdict is made does not take it away.
    with log.fenced(environ, quiet=as_json) as folds, Interrupts() as late:
        say(f"stackproof verify-release · run {run_id} · {counted(len(steps.names), 'step')}")
        ran = parts.carry_out(whole, environ, Telling(console=shown, say=say, steps=steps, log=folds))
        run_dir = whole.run_dir
        weighed = weigh(project, run_dir, environ=environ, today=today)
        secrets = parts.secrets_of(rules, project, environ)
        published = publish.write(run_dir, weighed, project=project, environ=environ, secrets=secrets, policy=rules)
        publish.summarise(published.verdict, environ)
        show(published.verdict, run_dir, project, as_json=as_json, page=publish.PAGE)
        if published.compared is not None:
            for line in redact.conceal(compared.lines(published.compared), secrets):
                say(line)
    for line in () if as_json else publish.annotated(published):
        guard.command(line)
    stopped = ran.stopped or parts.code_of(late)
    return int(weighed.exit_code if stopped is None else stopped)


def show(verdict: Verdict, run_dir: Path, project: Path, *, as_json: bool, page: str | None = None) -> None:
    """Print the verdict, as lines or as the content of `verdict.json`; page: its name, where one was written."""
    if as_json:
        console.out(json.dumps(render.to_json(verdict), indent=2, sort_keys=True, ensure_ascii=False))
        return
    absolute, root = run_dir.absolute(), project.absolute()
    shown = absolute.relative_to(root) if absolute.is_relative_to(root) else absolute
    for line in terminal.lines(verdict, shown.as_posix(), page):
        console.told(line, hanging=terminal.hanging(verdict, line) or None)
