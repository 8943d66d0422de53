"""The commands `stackproof trace …`: read, check and migrate what model clients streamed."""

from __future__ import annotations

from pathlib import Path

import click

from stackproof import console
from stackproof.cli.cli_words import CommandGroup, json_option
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.recorder import redact
from stackproof.recordings.wording import counted, json_text, one_line
from stackproof.trace import checking, migrating, showing
from stackproof.trace.checking import Finding, Kind, Report
from stackproof.trace.contents import read
from stackproof.trace.errors import DamagedTraceError, TraceVersionError
from stackproof.trace.migrating import Migrated
from stackproof.trace.versions import CURRENT

_files = click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))


@click.group("trace", cls=CommandGroup)
def trace() -> None:
    """Read, check and migrate traces of model clients (.jsonl, .jsonl.zst)."""


@trace.command("show")
@_files
@click.option("--events", is_flag=True, help="Show every event, on a line of its own.")
@click.option("--line", "number", type=click.IntRange(min=1), metavar="N", help="Show only the exchange at line N.")
@json_option
def show(*, files: tuple[Path, ...], events: bool, number: int | None, as_json: bool) -> int:
    """Show what was asked and what was answered, exchange by exchange."""
    found = [read(path) for path in files]
    for contents in found:
        known = showing.line_numbers(contents)
        if number is not None and number not in known:
            there = f"its lines are {known[0]} to {known[-1]}" if known else "it holds no exchange"
            raise UsageError(f"{contents.path} has no exchange at line {number}", hint=there)
    if as_json:
        console.out(json_text({"schema": 1, "traces": [showing.facts(one, number=number) for one in found]}))
    else:
        for index, contents in enumerate(found):
            for text in ([""] if index else []) + list(showing.lines(contents, number=number, events=events)):
                console.out(text)
    return ExitCode.RECORDINGS if any(contents.damage for contents in found) else ExitCode.PASS


@trace.command("check")
@_files
@click.option("--strict", is_flag=True, help="What is only said fails too: partial, outdated.")
@json_option
@click.pass_obj
def check(around: Surroundings, /, *, files: tuple[Path, ...], strict: bool, as_json: bool) -> int:
    """Name what is wrong with traces, and what to do about it.

    Damaged and torn lines, unknown events, secrets that this environment knows and texts shaped like keys.
    """
    secrets = _secrets(around)
    reports = [checking.check(path, secrets) for path in files]
    failing = any(one.fails or strict for report in reports for one in report.findings)
    code = ExitCode.RECORDINGS if failing else ExitCode.PASS
    if as_json:
        console.out(json_text(_check_facts(reports, code)))
        return code
    for report in reports:
        _say(report)
    return code


@trace.command("migrate")
@_files
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--drop-torn", is_flag=True, help="Leave out a last line that a killed writer left unfinished.")
@json_option
def migrate(*, files: tuple[Path, ...], dry_run: bool, drop_torn: bool, as_json: bool) -> int:
    """Bring traces to the current version of the format.

    Each file is replaced as a whole or stays as it is.
    """
    made: list[Migrated] = []
    refused: list[DamagedTraceError | TraceVersionError] = []
    for path in files:
        try:
            one = migrating.migrate(path, dry_run=dry_run, drop_torn=drop_torn)
        except (DamagedTraceError, TraceVersionError) as error:
            refused.append(error)
        else:
            made.append(one)
            if not as_json:
                _told(one, dry_run=dry_run)
    code = ExitCode.RECORDINGS if refused else ExitCode.PASS
    if as_json:
        left = [{"what": error.message, "next": error.hint} for error in refused]
        facts = {"schema": 1, "dry_run": dry_run, "files": [_migrated(one) for one in made], "refused": left}
        console.out(json_text({**facts, "exit_code": int(code)}))
    for damage in [] if as_json else refused:
        console.show_error(damage)
    return code


def _secrets(around: Surroundings) -> dict[str, str]:
    from stackproof import catalog  # noqa: PLC0415 - only this command needs it

    setups = catalog.load(around.project).setups.values()
    return redact.known_values((name for spec in setups for name in spec.all_secrets), around.environ)


def _say(report: Report) -> None:
    for one in report.findings:
        at = f", line {one.line}" if one.line is not None else ""
        console.out(f"{'✗' if one.fails else '–'} {one.kind.value:<13} {one.file}{at}")
        console.out(f"    {one_line(one.what)}")
        console.out(f"    next: {one.action}")
    counts = [f"{sum(one.kind is kind for one in report.findings)} {kind.value}" for kind in _kinds(report.findings)]
    version = "" if report.version is None else f"version {report.version}, "
    whole = f"{version}{counted(report.complete, 'complete exchange')}: " if report.version is not None else ""
    console.out(f"{report.file}: {whole}{', '.join(counts) or 'nothing wrong'}")


def _kinds(findings: tuple[Finding, ...]) -> list[Kind]:
    return [kind for kind in Kind if any(one.kind is kind for one in findings)]


def _check_facts(reports: list[Report], code: ExitCode) -> dict[str, object]:
    return {
        "schema": 1,
        "kind": "trace-check",
        "files": [
            {"file": one.file, "version": one.version, "complete": one.complete, "partial": one.partial}
            for one in reports
        ],
        "findings": [one.to_json() for report in reports for one in report.findings],
        "exit_code": int(code),
    }


def _told(one: Migrated, *, dry_run: bool) -> None:
    if not one.is_changed:
        console.out(f"{one.file}: version {one.version} is current, nothing to do")
        return
    done = "would be migrated" if dry_run else "migrated"
    if not one.steps:
        done = "would lose its torn last line" if dry_run else "lost its torn last line"
    partial = f", {one.partial} of them now marked partial" if one.steps and one.partial else ""
    console.out(f"{one.file}: {done}, {counted(one.exchanges, 'exchange')}{partial}")
    for step in one.steps:
        console.out(f"  version {step}")
    if one.steps and one.dropped:
        console.out("  its torn last line is left out")


def _migrated(one: Migrated) -> dict[str, object]:
    return {
        "file": one.file,
        "from": one.version,
        "to": CURRENT,
        "changed": one.is_changed,
        "exchanges": one.exchanges,
        "partial": one.partial,
        "dropped_torn": one.dropped,
        "steps": list(one.steps),
    }
