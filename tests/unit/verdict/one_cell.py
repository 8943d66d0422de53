"""A cell that is made for a verdict, beside one that is good."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.verdict.conftest import Project, Run

from stackproof.verdict.records import Verdict


def one_cell(project: Project, prepare: Callable[[Run], object]) -> Verdict:
    """A run whose server cell is good and whose library cell is what `prepare` makes of it."""
    run = project.run()
    run.cell("server:reference")
    prepare(run)
    run.checks()
    run.finish()
    return run.verdict()
