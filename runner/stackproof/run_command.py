"""`stackproof run`, once its plan is made: carried out, and told to the CI system that asks."""

from __future__ import annotations

from collections.abc import Mapping

from stackproof import console, plan_text
from stackproof.ci import kind, log
from stackproof.plan import Plan
from stackproof.run import orchestrate


def carry_out(planned: Plan, environ: Mapping[str, str], *, text: bool) -> int:
    """Run it; its exit code. text: show the plan first; else one JSON object is all that is printed."""
    with log.fenced(environ, quiet=not text) as folds:
        for line in plan_text.lines(planned) if text else ():
            console.told(line, hanging=plan_text.HANGING)
        outcome = orchestrate.execute(planned, log=folds)
    if planned.options.tests and not planned.options.collect_only and kind.shows_more(environ):
        from stackproof import run_told  # noqa: PLC0415 - most runs have nobody to tell but who started them

        run_told.tell(planned, outcome, environ, notes=text)
    return int(outcome.exit_code)
