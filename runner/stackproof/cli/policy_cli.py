"""The commands `stackproof policy …` and `stackproof verdict`, as click objects that the command line registers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from stackproof import catalog, console
from stackproof.ci import guard, log
from stackproof.cli import completing
from stackproof.cli.cli_words import CommandGroup, json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings, newest_run, run_folder
from stackproof.errors import ExitCode
from stackproof.evidence import git
from stackproof.evidence.gather import gather
from stackproof.parts import secrets_of
from stackproof.recorder import redact
from stackproof.release import show
from stackproof.verdict import accepted, compared, elsewhere, expected, publish, render, update
from stackproof.verdict.check import complaints, seen
from stackproof.verdict.compared import Compared, Results
from stackproof.verdict.concealing import conceal_verdict
from stackproof.verdict.explain import explain
from stackproof.verdict.policy import PATH, load
from stackproof.verdict.weigh import weigh_evidence


@click.group("policy", cls=CommandGroup)
def policy() -> None:
    """Look after the release policy (ci/release.yaml) and the tests it expects (ci/expected/)."""


@policy.command("check")
@click.argument("run", shell_complete=completing.run, required=False)
@json_option
@click.pass_obj
def policy_check(around: Surroundings, run: str | None, as_json: bool) -> int:
    """Name waivers that are of no use, and expectations that are missing or left over.

    RUN, an id or a folder (default: the newest run), tells which waived tests do not fail, if it is of this commit.
    """
    folder = run_folder(around.project, run) if run is not None else newest_run(around.project)
    shown = None if folder is None else seen(folder, git.state(around.project).commit)
    found = complaints(around.project, catalog.load(around.project), datetime.now(UTC).date(), shown)
    code = ExitCode.TESTS if found else ExitCode.PASS
    if as_json:
        print_json(
            {
                "schema": 1,
                "kind": "policy-check",
                "file": PATH.as_posix(),
                "run": None if shown is None else shown.run,
                "complaints": [asdict(each) for each in found],
                "exit_code": int(code),
            }
        )
        return code
    if run is not None and shown is None:
        console.told(f"run {run} is of another commit and says nothing about waivers")
    for each in found:
        console.told(each.text)
    if not found:
        console.told("the policy is in order")
    return code


@policy.command("explain")
@json_option
@click.pass_obj
def policy_explain(around: Surroundings, as_json: bool) -> int:
    """Say in sentences what the policy asks for, each with the line that it comes from."""
    rules = load(around.project)
    asked = explain(
        rules,
        {name: expected.load(around.project, name) for name in expected.names(rules)},
        sum(accepted.load(around.project).values()),
        datetime.now(UTC).date(),
    )
    if as_json:
        facts = [{"line": each.line, "text": each.text} for each in asked]
        print_json({"schema": 1, "kind": "policy-explanation", "file": PATH.as_posix(), "asks": facts})
        return ExitCode.PASS
    width = max(len(each.origin) for each in asked)
    for each in asked:
        console.told(f"{each.origin.ljust(width)}  {each.text}", hanging=width + 2)
    return ExitCode.PASS


@policy.command("update")
@click.argument("runs", shell_complete=completing.run, nargs=-1, metavar="[RUN…]")
@click.option("--dry-run", is_flag=True, help="Show the changes as a diff and write nothing.")
@click.option("--accept-types", is_flag=True, help="Bear the type errors of RUN; without it they only get fewer.")
@click.pass_obj
def policy_update(around: Surroundings, runs: tuple[str, ...], dry_run: bool, accept_types: bool) -> int:
    """Expect from now on what runs have shown.

    RUN is an id or a folder (default: the newest run); several are taken together.
    """
    folders = [run_folder(around.project, run) for run in runs or (None,)]
    planned = update.planned(around.project, folders, accept_types=accept_types)
    for line in update.diff(around.project, planned) if dry_run else planned.lines:
        console.out(line)
    if not dry_run:
        update.write(around.project, planned)
    return ExitCode.PASS


@click.command("verdict")
@click.argument("runs", shell_complete=completing.run, nargs=-1, metavar="[RUN…]")
@json_option
@click.option(
    "--output",
    shell_complete=completing.folders,
    metavar="DIR",
    help="Write the verdict into this folder in every form, and tell it to the CI system.",
)
@click.option(
    "--compared-with",
    shell_complete=completing.run,
    metavar="FILE|RUN",
    help="Say what changed since a verdict.json, or a run by id or folder. Default: the verdict of the run before.",
)
@click.pass_obj
def verdict(
    around: Surroundings, runs: tuple[str, ...], as_json: bool, output: str | None, compared_with: str | None
) -> int:
    """Weigh runs again, against what the project is now.

    RUN is an id or a folder (default: the newest run). Several are weighed together, and shards of a
    cell as that cell: what they hold twice counts once, a shard that is missing is named, and where they disagree
    nothing is proven.
    """
    folders = [run_folder(around.project, run) for run in runs or (None,)]
    evidence = gather(folders)
    rules = load(around.project)
    secrets = secrets_of(rules, around.project, around.environ)
    weighed = conceal_verdict(
        weigh_evidence(around.project, evidence, environ=around.environ, today=datetime.now(UTC).date()), secrets
    )
    shown, page, notes = folders[0], None, []
    if output is not None:
        shown, page = around.project / output, publish.PAGE
        published = elsewhere.write(
            shown,
            folders,
            weighed,
            evidence,
            project=around.project,
            environ=around.environ,
            secrets=secrets,
            policy=rules,
        )
        publish.summarise(published.verdict, around.environ)
        notes = publish.annotated(published)
    found = _changes(around.project, folders, lambda: compared.results_of(evidence, weighed), compared_with)
    if as_json:
        changes = None if found is None else redact.conceal(compared.as_json(found), secrets)
        content = {**render.to_json(weighed), "compared": changes}
        console.out(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False))
        return weighed.exit_code
    with log.fenced(around.environ):
        show(weighed, shown, around.project, as_json=False, page=page)
        for line in redact.conceal([*evidence.notes, *(compared.lines(found) if found is not None else ())], secrets):
            console.told(line)
    for line in notes:
        guard.command(line)
    return weighed.exit_code


def _changes(project: Path, folders: Sequence[Path], now: Callable[[], Results], named: str | None) -> Compared | None:
    """What changed since the run or file of that name, or since the newest run before; UsageError for no verdict.

    now: of all tests, which is a lot where nothing is there to be compared with.
    """
    if named is None:
        earlier = compared.newest_before(*folders)
    else:
        file = project / named
        earlier = file if file.is_file() else run_folder(project, named)
    if earlier is None:
        return None
    return compared.compare(now(), compared.read(earlier))
