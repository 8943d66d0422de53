"""`stackproof recordings check`: what is wrong with recordings, and what to do about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import click

from stackproof import console
from stackproof.cli import recordings_use
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room, filters, followed, query, recording_dir_option, room
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, StackproofError
from stackproof.recorder import redact
from stackproof.recordings import checking, corpus, disuse, leftovers, missing, observed
from stackproof.recordings.ageing import Undated
from stackproof.recordings.checking import Limit, Tally, Terms
from stackproof.recordings.collection import Collected
from stackproof.recordings.findings import Finding, Kind
from stackproof.recordings.observed import Observed

_NAMES = ", ".join(Kind)
_KINDS = click.Choice([kind.value for kind in Kind])


@dataclass(kw_only=True, slots=True)
class _Heard:
    """What went wrong on the way that is no finding about a file, once each."""

    notes: list[str] = field(default_factory=list)

    def note(self, error: StackproofError) -> None:
        text = f"deleted tests were not looked for: {error.message}"
        if text not in self.notes:
            self.notes.append(text)


@click.command("check")
@filters
@recording_dir_option
@recordings_use.runs_option
@click.option(
    "--only", type=_KINDS, metavar="KIND", multiple=True, help=f"Look for this kind only: {_NAMES}. May be repeated."
)
@click.option(
    "--skip",
    type=_KINDS,
    metavar="KIND",
    multiple=True,
    help="Do not look for this kind, as of --only. May be repeated.",
)
@click.option("--max-age", type=click.IntRange(min=0), metavar="DAYS", help="Name recordings older than this, too.")
@click.option(
    "--collect/--no-collect", "collects", default=True, help="Ask pytest which tests there are. Default: --collect."
)
@click.option("--strict", is_flag=True, help="What is only said fails too: stale, not observed, perhaps missing.")
@json_option
@click.pass_obj
def check(
    around: Surroundings,
    /,
    *,
    recording_dir: str | None,
    runs: tuple[str, ...],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    max_age: int | None,
    collects: bool,
    strict: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> int:
    """Name what is wrong with recordings, and what to do about it.

    Files that cannot be read, that no look-up finds, that hold a secret, that nobody asked for although their test
    passed; tests without recordings. What no run that is kept has shown is not judged.
    """
    where = room(around, recording_dir)
    asked = query(where, given)
    total = corpus.count(where.root, asked.setups)
    seen = observed.read(where.project, where.root, recordings_use.folders(where, runs))
    heard = _Heard()
    kinds = frozenset(map(Kind, only or Kind)) - frozenset(map(Kind, skip))
    collects = collects and not kinds.isdisjoint({*checking.OF_USE, Kind.MISSING})
    terms = Terms(
        root=where.root,
        shown=where.shown,
        integration_root=where.catalog.integration_root,
        query=asked,
        kinds=kinds,
        secrets=_secrets(around, where),
        disuse=_disuse(around, where, seen, asked.setups, heard, collects=collects),
        limit=_limit(where, max_age),
        now=datetime.now(UTC),
        program=recordings_use.program(around),
    )
    tally = Tally()
    walk = followed(leftovers.files(where.root, asked.setups), total, "check")
    findings = chain(checking.look(terms, walk, tally), _lacking(terms, seen, tally, heard))
    # There may be as many findings as files: only JSON, one object, needs them all at once.
    kept: list[Finding] = []
    counts: Counter[Kind] = Counter()
    failing = False
    for one in findings if as_json else _printed(findings):
        counts[one.kind] += 1
        failing = failing or one.fails or strict
        if as_json:
            kept.append(one)
    failing = failing or (strict and bool(tally.unobserved))
    code = ExitCode.RECORDINGS if failing else ExitCode.PASS
    if as_json:
        print_json({**_facts(terms, kept, tally, seen), "notes": heard.notes, "exit_code": int(code)})
    else:
        _summary(counts, tally, heard, terms)
    return code


def _secrets(around: Surroundings, where: Room) -> dict[str, dict[str, str]]:
    return {name: redact.known_values(spec.all_secrets, around.environ) for name, spec in where.catalog.setups.items()}


def _limit(where: Room, max_age: int | None) -> Limit | None:
    rules = recordings_use.release_policy(where)
    allowed = None if rules is None else rules.recordings.max_age_days
    if max_age is not None:
        return Limit(days=max_age, binding=False)
    return None if allowed is None else Limit(days=allowed, binding=True)


def _disuse(
    around: Surroundings, where: Room, seen: Iterable[Observed], setups: tuple[str, ...], heard: _Heard, *,
    collects: bool,
) -> disuse.Disuse:  # fmt: skip
    collected: Collected | None = None
    if collects:
        try:
            collected = recordings_use.collect(around, where, setups)
        except StackproofError as error:
            heard.note(error)

    def collect(setup: str) -> Collected:
        try:
            return recordings_use.collect(around, where, (setup,))
        except StackproofError as error:
            heard.note(error)
            return Collected()

    return disuse.gather(
        project=where.project,
        root=where.root,
        catalog=where.catalog,
        environ=around.environ,
        observed=seen,
        policy=recordings_use.release_policy(where),
        collected=collected,
        collect=collect,
    )


def _lacking(terms: Terms, seen: Iterable[Observed], tally: Tally, heard: _Heard) -> Iterator[Finding]:
    if heard.notes:
        return  # whose test is gone needs no recording, and nobody knows which are
    yield from checking.lacking(terms, missing.missed(seen), tally)


def _printed(findings: Iterable[Finding]) -> Iterator[Finding]:
    said: set[str] = set()
    for one in findings:
        console.told(f"{'✗' if one.fails else '–'} {one.kind.value:<12} {one.file}")
        at = f" (at {one.where})" if one.where else ""
        console.told(f"    {one.what}{at}")
        if one.action not in said:
            said.add(one.action)
            console.told(f"    next: {one.action}")
        yield one


def _summary(counts: Counter[Kind], tally: Tally, heard: _Heard, terms: Terms) -> None:
    words = ", ".join(f"{counts[kind]} {kind.value}" for kind in Kind if counts[kind]) or "nothing wrong"
    if counts:
        console.out("")
    for note in heard.notes:
        console.told(f"– {note}")
    by_cell = _by_cell(tally)
    for (setup, suite), (number, why) in by_cell.items():
        console.told(f"– not observed  {number} of {setup}, {suite}: {why}")
        if suite != "–":
            console.told(f"    next: {_observe(terms.program, setup, suite)}")
    for reason, number in tally.undated.items():
        console.told(f"– not dated     {number} {reason.value}: they have no age")
    use = f"; {tally.used} used, {sum(tally.unobserved.values())} not observed"
    looked = "" if terms.kinds.isdisjoint(checking.OF_USE) else use
    console.told(f"{tally.files} recording{'' if tally.files == 1 else 's'}: {words}{looked}")


def _by_cell(tally: Tally) -> dict[tuple[str, str], tuple[int, str]]:
    """Setup and suite → how many, and the reason that most of them have."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for (setup, suite, why), number in tally.unobserved.items():
        found.setdefault((setup, suite), Counter())[why] += number
    return {cell: (sum(whys.values()), whys.most_common(1)[0][0]) for cell, whys in sorted(found.items())}


def _observe(program: str, setup: str, suite: str) -> str:
    return f"{program} --suite {suite.replace(', ', ',')} --setup {setup}"


def _facts(terms: Terms, kept: list[Finding], tally: Tally, seen: Iterable[Observed]) -> dict[str, Any]:
    counts = Counter(one.kind for one in kept)
    return {
        "schema": 1,
        "kind": "recordings-check",
        "recording_dir": terms.shown,
        "files": tally.files,
        "used": tally.used,
        "findings": [one.to_json() for one in kept],
        "counts": {kind.value: counts[kind] for kind in Kind},
        "not_observed": [
            {"setup": setup, "suite": suite, "why": why, "count": number}
            for (setup, suite, why), number in sorted(tally.unobserved.items())
        ],
        "not_dated": {reason.value: tally.undated[reason] for reason in Undated},
        "runs": sorted({one.run for one in seen}),
    }
