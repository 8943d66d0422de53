"""What a rehearsal says at its end: a table of jobs, what was found, what was played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ci.rehearsal import fake_gh
from ci.rehearsal.order import Result
from ci.rehearsal.results import LegEnd
from ci.rehearsal.runs import RunEnd
from ci.rehearsal.stage import Stage


def unexpected(ends: Sequence[RunEnd], expected: Mapping[str, Result]) -> list[str]:
    """Jobs that did not end as they should: with success or skipped, where nothing else is expected of them."""
    wrong, met = [], set()
    for end in ends:
        file = end.file.rpartition("/")[2]
        for id_, job in end.jobs.items():
            key = next((key for key in (f"{file}:{id_}", id_) if key in expected), None)
            if key is not None:
                met.add(key)
                if job.result is not expected[key]:
                    wrong.append(f"{file}: {id_} ended with {job.result.value}, and {expected[key].value} is expected")
            elif job.result in (Result.FAILURE, Result.CANCELLED) and not all(leg.pretended for leg in job.legs):
                why = "; ".join(leg.why for leg in job.legs if leg.why)
                wrong.append(f"{file}: {id_} ended with {job.result.value}: {why}")
    return wrong + [f"no job is called {key!r}, of which something is expected" for key in expected if key not in met]


def lines(stage: Stage, ends: Sequence[RunEnd], wrong: Sequence[str]) -> list[str]:
    """The table and what follows it."""
    made = []
    for end in ends:
        made += ["", f"{end.file} · {end.event} · {end.conclusion} · {end.seconds:.0f} s"]
        widest = max((len(leg.name) for leg in end.legs), default=0)
        for leg in end.legs:
            steps = f"{leg.ran} of {len(leg.steps)} steps" if leg.steps else "no step"
            row = f"  {leg.name:<{widest}}  {leg.result.value:<9}  {steps:>14}  {leg.seconds:6.1f} s"
            made.append(f"{row}  {leg.why if leg.result is not Result.SUCCESS else ''}".rstrip())
            made += [f"    {level}: {_first(text)}" for level, text in leg.annotations]
    if stage.found.findings:
        made += ["", "found:", *(f"  {finding}" for finding in stage.found.findings)]
    played = [f"{what}{f' ({count} times)' if count > 1 else ''}" for what, count in sorted(stage.found.played.items())]
    played += [f"gh {' '.join(words[:2])}" for words in _asked(stage)]
    if played:
        made += ["", "played, not run:", *(f"  {what}" for what in played)]
    pushes = stage.origin.pushes()
    if pushes:
        made += ["", "pushed:", *(f"  {' '.join([ref, new[:12]])}" for ref, _, new in map(str.split, pushes))]
    if stage.absent_secrets:
        made += ["", f"secrets that were asked for and are not given: {', '.join(sorted(stage.absent_secrets))}"]
    if wrong:
        made += ["", "not as expected:", *(f"  {one}" for one in wrong)]
    return [stage.shown(line) for line in made]


def as_json(stage: Stage, ends: Sequence[RunEnd], wrong: Sequence[str]) -> dict[str, Any]:
    """The same for programs."""
    state = fake_gh.State(stage.gh)
    return {
        "schema": 1,
        "kind": "rehearsal",
        "commit": stage.origin.commit,
        "as_expected": not wrong and not stage.found.findings,
        "workflows": [
            {
                "file": end.file,
                "event": end.event,
                "conclusion": end.conclusion,
                "seconds": round(end.seconds, 1),
                "jobs": [_leg(leg) for leg in end.legs],
                "artifacts": stage.store.names(end.number),
            }
            for end in ends
        ],
        "findings": [
            {
                "file": one.place.file,
                "line": one.place.line,
                "where": one.place.what,
                "text": stage.masks.hide(one.text),
            }
            for one in stage.found.findings
        ],
        "not_as_expected": list(wrong),
        "played": dict(sorted(stage.found.played.items())),
        "gh": [[stage.masks.hide(word) for word in words] for words in state.asked()],
        "issues": [{key: one[key] for key in ("number", "title", "state")} for one in state.load("issues")],
        "comments": [{key: one[key] for key in ("number", "body")} for one in state.load("comments")],
        "pushed": [ref for ref, _, _ in map(str.split, stage.origin.pushes())],
        "absent_secrets": sorted(stage.absent_secrets),
    }


def _leg(leg: LegEnd) -> dict[str, Any]:
    return {
        "job": leg.job,
        "name": leg.name,
        "result": leg.result.value,
        "why": leg.why,
        "seconds": round(leg.seconds, 1),
        "ran": leg.ran,
        "steps": [{"title": one.title, "outcome": one.outcome.value, "why": one.why} for one in leg.steps],
        "permissions": dict(leg.permissions),
        "environment": leg.environment,
        "outputs": dict(leg.outputs),
        "annotations": [{"level": level, "text": text} for level, text in leg.annotations],
    }


def _asked(stage: Stage) -> list[list[str]]:
    made: list[list[str]] = []
    for words in fake_gh.State(stage.gh).asked():
        if words[:2] not in [one[:2] for one in made]:
            made.append(words)
    return made


def _first(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first} …" if rest else first
