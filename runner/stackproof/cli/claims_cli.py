"""The commands `stackproof claims …`: what is claimed, and whether it holds."""

from __future__ import annotations

from typing import Any

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import CommandGroup, json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.faults import claim_environment, claim_events, claim_file, claim_values
from stackproof.faults.claim_file import Claim
from stackproof.verdict import policy
from stackproof.verdict.policy import ClaimsPolicy
from stackproof.verdict.records import Rule

SCHEMA = 1


@click.group("claims", cls=CommandGroup)
def claims() -> None:
    """Say what must follow when something breaks, and find out whether it does."""


@claims.command("list")
@json_option
@click.pass_obj
def list_(around: Surroundings, as_json: bool) -> None:
    """List the claims of the file that the policy names."""
    wanted = policy.claims_of(around.project)
    if as_json:
        print_json({**_head(wanted), "claims": [_facts(each, wanted) for each in wanted.claims.values()]})
        return
    rows = [
        (each.name, _required(each, wanted), ", ".join(_lacks(each)) or "–", each.invariant)
        for each in wanted.claims.values()
    ]
    console.table(rows, head=("claim", "required", "lacks here", "invariant"), environ=around.environ)


@claims.command("show")
@click.argument("name", shell_complete=completing.claim)
@json_option
@click.pass_obj
def show(around: Surroundings, name: str, as_json: bool) -> None:
    """Show one claim in full: fault, events, residue, and what it excludes."""
    wanted = policy.claims_of(around.project)
    found = claim_file.named(wanted.claims, name, file=wanted.file)
    if as_json:
        print_json({**_head(wanted), "claim": _facts(found, wanted)})
        return
    console.told(f"{found.name}: {found.invariant}")
    lacks = _lacks(found)
    here = f"; this machine lacks {' and '.join(lacks)}" if lacks else ""
    for title, texts in (
        ("fault", [found.fault]),
        ("events", [claim_events.words(each.written) for each in found.events] or ["nothing may happen"]),
        ("residue", [f"{key}: {claim_values.shown(value)}" for key, value in found.residue.items()]),
        ("excludes", found.excludes),
        ("needs", [", ".join(found.environment) + here] if found.environment else ["nothing in particular"]),
        ("required", [_required(found, wanted)]),
        ("from", [f"{wanted.file.as_posix()}:{found.line}"]),
    ):
        for number, text in enumerate(texts):
            console.told(f"  {title if number == 0 else '':9} {text}")


@claims.command("run")
@click.argument("names", shell_complete=completing.claim, nargs=-1, metavar="[NAME…]")
@json_option
@click.pass_obj
def run(around: Surroundings, names: tuple[str, ...], as_json: bool) -> int:
    """Run the tests that serve claims, and say which hold.

    NAME is a claim's (default: all of them).
    """
    from stackproof.checks import claims as check  # noqa: PLC0415 - it loads all that a run needs

    if not as_json:
        return check.run(around.project, names, environ=around.environ)
    wanted = policy.claims_of(around.project)
    ran = check.carry_out(around.project, names, environ=around.environ)
    print_json(
        {
            "schema": SCHEMA,
            "kind": "claims-run",
            **_head(wanted),
            "run": ran.run_dir.name,
            "evidence": ran.evidence,
            "claims": [_held(rule) for rule in ran.rules],
            "held": ran.held,
            "ended": list(ran.ending),
            "exit_code": int(ran.exit_code),
        }
    )
    return ran.exit_code


def _head(wanted: ClaimsPolicy) -> dict[str, Any]:
    return {"schema": SCHEMA, "file": wanted.file.as_posix(), "tests": list(wanted.tests)}


def _facts(each: Claim, wanted: ClaimsPolicy) -> dict[str, Any]:
    return {
        "name": each.name,
        "invariant": each.invariant,
        "fault": each.fault,
        "events": [event.written for event in each.events],
        "residue": dict(each.residue),
        "excludes": list(each.excludes),
        "environment": list(each.environment),
        "lacks": list(_lacks(each)),
        "required": each.name in wanted.required,
        "line": each.line,
    }


def _held(rule: Rule) -> dict[str, Any]:
    """What became of one claim. counts: whether what it is not counts, as `required` and this machine have it."""
    return {
        "name": rule.id.removeprefix("claim:"),
        "state": rule.state.value,
        "counts": rule.counted is rule.state,
        "summary": rule.summary,
        "findings": [{"state": finding.state.value, "text": finding.text} for finding in rule.findings],
    }


def _required(each: Claim, wanted: ClaimsPolicy) -> str:
    return "yes" if each.name in wanted.required else "no"


def _lacks(each: Claim) -> tuple[str, ...]:
    return claim_environment.lacking(each.environment)
