"""`stackproof freshness`: whether live smokes have run of late, and passed."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from stackproof import catalog, console
from stackproof.ci import log
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.parts import secrets_of_setups
from stackproof.recorder import redact
from stackproof.verdict import freshness as fresh
from stackproof.verdict import summary


@click.command("freshness")
@click.option(
    "--setup",
    "setups",
    shell_complete=completing.setups,
    metavar="NAME",
    multiple=True,
    help="Only this setup. Several by comma, or repeated.",
)
@click.option(
    "--max-age-days",
    type=click.IntRange(min=1),
    metavar="N",
    help="How old a smoke may be. Default: the policy's, or 8.",
)
@json_option
@click.pass_obj
def freshness(around: Surroundings, setups: tuple[str, ...], max_age_days: int | None, as_json: bool) -> int:
    """Say whether a live smoke of each setup has passed of late.

    A job that never starts says nothing, so another one asks this. Setups and the limit are those of the policy
    (ci/release.yaml, section live) unless they are given. Evidence is looked for in .stackproof/live/ and in the file
    or folder that STACKPROOF_LIVE_EVIDENCE names.

    \b
    Exit codes: 0 all passed, and not too long ago; 7 one of them is stale,
    missing, blocked, stopped, skipped or failed; 2 a wrong command line.
    """
    known = catalog.load(around.project)
    wanted = fresh.asked_for(around.project, setups, max_age_days)
    for name in wanted.setups:
        known.setup(name, where="--setup" if setups else "ci/release.yaml, live")
    found = fresh.look(around.project, wanted, environ=around.environ, today=datetime.now(UTC).date())
    secrets = secrets_of_setups(set(wanted.setups), around.project, around.environ)
    summary.append(around.environ, lambda room: redact.conceal(fresh.to_markdown(found, room), secrets))
    if as_json:
        print_json(redact.conceal(fresh.to_json(found), secrets))
        return found.exit_code
    # Reasons come from files that others wrote.
    with log.fenced(around.environ):
        for line in redact.conceal(list(fresh.lines(found)), secrets):
            console.out(line)
    return found.exit_code
