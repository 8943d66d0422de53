"""The command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.rehearsal.order import Order, Result

from stackproof.errors import UsageError

EVENTS = ("pull_request", "merge_group", "push", "schedule", "workflow_dispatch", "release")
_SOURCES = {"merge_request": "merge_request_event", "schedule": "schedule", "push": "push", "web": "web"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What was asked for. workflows: names of files; empty: all that the event starts. expected: by job."""

    workflows: tuple[str, ...]
    expected: Mapping[str, Result]
    list_only: bool
    keep: bool
    as_json: bool
    gitlab: str | None
    order: Order


def parse(argv: Sequence[str], environ: Mapping[str, str], here: Path) -> Options:
    """Read the command line. Raises UsageError, or SystemExit from the parser itself."""
    given = _parser().parse_args(argv)
    secrets = {}
    for name in given.secret:
        if "=" in name:
            raise UsageError("--secret takes a name only", hint="its value is the variable of that name")
        if not environ.get(name):
            raise UsageError(f"--secret {name}: the variable {name} is not set")
        secrets[name] = environ[name]
    machine = {}
    for name in given.machine:
        if name not in environ:
            raise UsageError(f"--machine {name}: the variable {name} is not set")
        machine[name] = environ[name]
    order = Order(
        project=(given.project or here).resolve(),
        commit=given.commit,
        event=given.event,
        fork=given.fork,
        cron=given.cron,
        inputs=_pairs("input", given.input),
        secrets=secrets,
        variables=_pairs("var", given.var),
        matrix=_pairs("matrix", given.matrix),
        ends={job: _result("end", word) for job, word in _pairs("end", given.end).items()},
        jobs=tuple(given.job),
        timeout=given.timeout,
        machine=machine,
        change=given.change,
        labels=tuple(given.label),
        seed=given.seed.resolve() if given.seed else None,
        earlier={name: Path(path).resolve() for name, path in _pairs("earlier", given.earlier).items()},
        repository=given.repository,
        show=given.show,
    )
    if given.fork and given.event != "pull_request":
        raise UsageError("--fork is about pull requests", hint="--event pull_request --fork")
    return Options(
        workflows=tuple(given.workflow),
        expected={job: _result("expect", word) for job, word in _pairs("expect", given.expect).items()},
        list_only=given.list,
        keep=given.keep,
        as_json=given.json,
        gitlab=_SOURCES[given.gitlab] if given.gitlab else None,
        order=order,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ci.rehearsal",
        description="Run the steps of CI's workflows here, as they are in a commit, before they are pushed.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("workflow", nargs="*", metavar="WORKFLOW", help="a file of .github/workflows; all that the event starts")
    add("--event", choices=EVENTS, default="pull_request", help="what starts them (pull_request)")
    add("--gitlab", choices=tuple(_SOURCES), help="run .gitlab-ci.yml instead, for a pipeline of this kind")
    add("--fork", action="store_true", help="the pull request comes from a fork")
    add("--label", action="append", default=[], metavar="NAME", help="a label of the pull request")
    add("--change", type=Path, metavar="PATCH", help="what the pull request changes; nothing")
    add("--cron", metavar="EXPRESSION", help="which schedule of several")
    add("--input", action="append", default=[], metavar="NAME=VALUE", help="an input of workflow_dispatch")
    add(
        "--secret", action="append", default=[], metavar="NAME", help="a secret; its value is the variable of that name"
    )
    add("--var", action="append", default=[], metavar="NAME=VALUE", help="a variable of the repository")
    add("--machine", action="append", default=[], metavar="NAME", help="a variable of this shell that every step gets")
    add("--job", action="append", default=[], metavar="NAME", help="only this job, and what it needs")
    add("--matrix", action="append", default=[], metavar="KEY=VALUE", help="only legs with this value")
    add("--end", action="append", default=[], metavar="JOB=RESULT", help="do not run a job, say that it ended so")
    add("--expect", action="append", default=[], metavar="JOB=RESULT", help="how a job must end (success or skipped)")
    add(
        "--earlier",
        action="append",
        default=[],
        metavar="FILE=FOLDER",
        help="artifacts of an earlier run of a workflow",
    )
    add("--seed", type=Path, metavar="FOLDER", help="an environment whose packages need not be installed again")
    add("--timeout", type=float, metavar="SECONDS", help="for one step at most")
    add("--commit", default="HEAD", metavar="REV", help="what is rehearsed (HEAD)")
    add("--project", type=Path, metavar="FOLDER", help="the repository (this folder)")
    add("--repository", default="example/stackproof", metavar="OWNER/NAME", help="what it is called on GitHub")
    add("--list", action="store_true", help="read and check the workflows, run nothing")
    add("--show", action="store_true", help="show what the steps print")
    add("--keep", action="store_true", help="keep the scratch folder")
    add("--json", action="store_true", help="one JSON object on standard output")
    return parser


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    made = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not name or not sign:
            raise UsageError(f"--{option} takes a name, '=' and a value, not {one!r}")
        made[name] = value
    return made


def _result(option: str, word: str) -> Result:
    try:
        return Result(word)
    except ValueError:
        known = ", ".join(one.value for one in Result)
        raise UsageError(f"--{option}: {word!r} is no result; there are {known}") from None
