"""Whether live smokes have run of late, for whoever has to find out: a job that never starts is silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, assert_never

from stackproof import nox_sessions
from stackproof.errors import ExitCode, UsageError
from stackproof.evidence import live
from stackproof.evidence.live import FOLDER, VARIABLE, LiveEvidence
from stackproof.plaintext import counted, shortened
from stackproof.verdict import policy, render
from stackproof.verdict.markdown import cell, inline
from stackproof.verdict.policy_records import LIVE_MAX_AGE, LivePolicy
from stackproof.verdict.standing import LiveState, Standing, standing

_LONGEST = 2000  # characters of one line of a summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Freshness:
    """How each setup stands on a day. problems: of files that should have been evidence. smoke: what starts one."""

    today: date
    limit: int
    standings: tuple[Standing, ...]
    problems: tuple[str, ...] = ()
    smoke: str = "stackproof smoke"

    @property
    def is_fresh(self) -> bool:
        """Whether every setup has passed, not too long ago."""
        return all(each.state is LiveState.PASSED for each in self.standings)

    @property
    def exit_code(self) -> ExitCode:
        """0 or 7."""
        return ExitCode.PASS if self.is_fresh else ExitCode.NOT_PROVEN

    def next(self, one: Standing) -> str | None:
        """What to do about a setup; None where there is nothing to do."""
        command = f"{self.smoke} --setup {one.setup}"
        match one.state:
            case LiveState.PASSED:
                return None
            case LiveState.MISSING:
                return f"{command}; evidence is looked for in {FOLDER.as_posix()}/ and where {VARIABLE} says"
            case LiveState.STALE:
                first = "see why its schedule did not start it; by hand: "
            case LiveState.AHEAD:
                first = "set the clock of the machine that ran it, or of this one, right; then: "
            case LiveState.BLOCKED:
                first = "see to the key and its credit; then: "
            case LiveState.STOPPED:
                first = "see what used the budget up; then: "
            case LiveState.ELSEWHERE if one.called:
                first = (
                    f"let 'live: {{hosts: […]}}' of {policy.PATH.as_posix()} name the host if it may stand for it, or: "
                )
            case LiveState.FAILED | LiveState.SKIPPED | LiveState.EMPTY | LiveState.ELSEWHERE:
                first = ""
            case _:
                assert_never(one.state)
        return first + command


def asked_for(project: Path, setups: Sequence[str], max_age_days: int | None) -> LivePolicy:
    """What the policy says of live smokes, and the caller before it. UsageError where nobody names a setup."""
    has_policy = (project / policy.PATH).is_file()
    wanted = policy.load(project).live if has_policy else None
    given = [name.strip() for each in setups for name in each.split(",") if name.strip()]
    names = tuple(dict.fromkeys(given)) or (wanted.setups if wanted is not None else ())
    if not names:
        where = "has no section 'live'" if has_policy else "does not exist"
        raise UsageError(
            f"no setup is named, and {policy.PATH.as_posix()} {where}",
            hint="name one with --setup NAME; `stackproof setups` lists them",
        )
    known = wanted.max_age_days if wanted is not None else LIVE_MAX_AGE
    hosts = wanted.hosts if wanted is not None else ()
    return LivePolicy(setups=names, max_age_days=max_age_days or known, hosts=hosts)


def look(project: Path, wanted: LivePolicy, *, environ: Mapping[str, str], today: date) -> Freshness:
    """How the setups stand, by everything that is at hand."""
    found: LiveEvidence = live.elsewhere(project, environ)
    return Freshness(
        today=today,
        limit=wanted.max_age_days,
        standings=tuple(
            standing(setup, found.smokes, today=today, limit=wanted.max_age_days, hosts=wanted.hosts)
            for setup in wanted.setups
        ),
        problems=found.problems,
        smoke="nox -s live_smoke --" if nox_sessions.has(project, "live_smoke") else "stackproof smoke",
    )


def lines(found: Freshness) -> Iterator[str]:
    """For people: a sentence for each setup, what else was seen, and what to do."""
    for one in found.standings:
        is_good = one.state is LiveState.PASSED
        limit = f"; the limit is {counted(found.limit, 'day')}" if is_good else ""
        yield f"{'✓' if is_good else '✗'} {one.sentence}{limit}"
        if one.models:
            yield f"    {', '.join(model.model for model in one.models)}"
        yield from (f"    {text}" for text in one.remarks)
        if (then := found.next(one)) is not None:
            yield f"    next: {then}"
    yield from (f"– {text}" for text in found.problems)


def to_json(found: Freshness) -> dict[str, Any]:
    """The same facts for machines."""
    return {
        "schema": 1,
        "kind": "freshness",
        "as_of": found.today.isoformat(),
        "fresh": found.is_fresh,
        "exit_code": int(found.exit_code),
        "max_age_days": found.limit,
        "setups": [
            {
                **render.live(one),
                "fresh": one.state is LiveState.PASSED,
                "sentence": one.sentence,
                "remarks": list(one.remarks),
                "next": found.next(one),
            }
            for one in found.standings
        ],
        "problems": list(found.problems),
    }


def to_markdown(found: Freshness, limit: int) -> str:
    """For the page of a CI job and for a tracking issue; at most `limit` bytes, the end left out where it is more."""
    kept: list[str] = []
    for line in _markdown(found):
        limit -= len(line.encode(errors="backslashreplace")) + 1
        if limit < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _markdown(found: Freshness) -> Iterable[str]:
    bad = sum(one.state is not LiveState.PASSED for one in found.standings)
    said = f"{bad} of {len(found.standings)} not fresh" if bad else "fresh"
    yield f"# Live smokes: {said}"
    yield ""
    yield f"As of {found.today.isoformat()}; a smoke may be {counted(found.limit, 'day')} old."
    yield ""
    yield "| | setup | found | next |"
    yield "|---|---|---|---|"
    for one in found.standings:
        mark = "✓" if one.state is LiveState.PASSED else "✗"
        row = (mark, one.setup, one.words, found.next(one) or "")
        yield shortened(f"| {' | '.join(cell(text) for text in row)} |", _LONGEST)
    notes = [f"{one.setup}: {text}" for one in found.standings for text in one.remarks] + list(found.problems)
    if notes:
        yield ""
        yield from (shortened(f"- {inline(text)}", _LONGEST) for text in notes)
