"""Takes away what runs left on a Docker engine: those that were killed, or those that a person names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from stackproof.stack import labels
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned


def abandoned(engine: Engine, *, now: float) -> tuple[str, ...]:
    """Remove everything of ours whose owner is gone, and nothing else; one line for each run that left something.

    now: seconds since the epoch.
    """
    return _remove(engine, lambda item: labels.is_abandoned(item.labels, now=now), "was killed; removed")


def of_run(engine: Engine, run_id: str) -> tuple[str, ...]:
    """Remove everything that belongs to a run, whoever owns it."""
    return _remove(engine, lambda item: item.labels.get(labels.RUN) == run_id, "left")


def everything(engine: Engine) -> tuple[str, ...]:
    """Remove every container and network that carries our label; images stay: they are nobody's leftovers."""
    return _remove(engine, lambda _: True, "is down; removed")


def listed(engine: Engine) -> tuple[Owned, ...]:
    """Every container and network that carries our label, containers first, in the order of runs and names."""
    found = engine.owned(labels.RUN)
    return tuple(sorted(found, key=lambda item: (item.kind, item.labels[labels.RUN], item.name)))


def _remove(engine: Engine, wanted: Callable[[Owned], bool], what: str) -> tuple[str, ...]:
    found = [item for item in listed(engine) if wanted(item)]
    for item in found:
        # Containers come first: a network goes only when it is empty.
        if item.kind == "container":
            engine.remove(item.id)
        else:
            engine.remove_network(item.id)
    runs = dict.fromkeys(item.labels[labels.RUN] for item in found)
    return tuple(f"run {run} {what} {_counted(i for i in found if i.labels[labels.RUN] == run)}" for run in runs)


def _counted(items: Iterable[Owned]) -> str:
    counts = Counter(item.kind for item in items)
    return " and ".join(f"{number} {kind}{'s' if number != 1 else ''}" for kind, number in counts.items())
