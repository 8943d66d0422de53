"""What a pipeline consists of, for whoever only wants to see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ci.rehearsal.gitlab.config import Config
from ci.rehearsal.gitlab.plan import Pipeline, Planned


def lines(loaded: Config, made: Pipeline | None, source: str) -> list[str]:
    """Lines of text: its jobs in their order, and those that rules leave out."""
    head = f"{loaded.file} · {source}"
    if made is None:
        return [head, "  no pipeline: its own rules want none"]
    return [
        head,
        *map(_line, made.jobs),
        *(f"  {name}: not in the pipeline, {why}" for name, why in made.absent.items()),
    ]


def _line(job: Planned) -> str:
    after = f" after {', '.join(job.needs)}" if job.needs else ""
    when = "" if job.when == "on_success" else f", {job.when}"
    may = "; may fail" if job.tolerated else ""
    does = "; a child pipeline of " + " and ".join(_files(job.given["trigger"])) if "trigger" in job.given else ""
    times = f", {job.parallel} times" if job.parallel is not None else ""
    return f"  {job.name}{after}: stage {job.stage}{times}{when}{may}{does}"


def _files(trigger: Any) -> Iterator[str]:
    include = trigger.get("include") if isinstance(trigger, dict) else trigger
    for one in include if isinstance(include, list) else [include]:
        if isinstance(one, dict) and "artifact" in one:
            yield f"{one['artifact']} (of {one.get('job')})"
        else:
            yield str(one.get("local", one) if isinstance(one, dict) else one)
