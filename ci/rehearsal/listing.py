"""What workflows there are, what starts them, and what their jobs may."""

from __future__ import annotations

from collections.abc import Iterable

from ci.rehearsal.model import Workflow


def listed(workflows: Iterable[Workflow]) -> list[str]:
    """Lines of text."""
    made = []
    for workflow in workflows:
        made.append(f"{workflow.file} · {', '.join(workflow.events)}")
        for job in workflow.jobs.values():
            asked = job.permissions if job.permissions is not None else workflow.permissions
            may = (
                "the default"
                if asked is None
                else ", ".join(f"{key}: {one}" for key, one in asked.items()) or "nothing"
            )
            after = f" after {', '.join(job.needs)}" if job.needs else ""
            made.append(
                f"  {job.id}{after}: {f'calls {job.uses}' if job.uses else f'{len(job.steps)} steps'}; token may {may}"
            )
    return made
