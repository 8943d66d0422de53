"""Takes away what runs left on a Docker engine: those that were killed, or those that a person names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from stackproof.stack import labels
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

_SERVICE = "com.docker.swarm.service.id"
# A service first: its tasks use secrets and networks. A network goes only when nothing is in it.
_ORDER = ("service", "container", "secret", "network")


def abandoned(engine: Engine, *, now: float) -> tuple[str, ...]:
    """Remove everything of ours whose owner is gone, and nothing else; one line for each run that left something.

    now: seconds since the epoch.
    """
    return _remove(engine, lambda item: labels.is_abandoned(item.labels, now=now), "was killed; removed")


def of_run(engine: Engine, run_id: str) -> tuple[str, ...]:
    """Remove everything that belongs to a run, whoever owns it."""
    return _remove(engine, lambda item: item.labels.get(labels.RUN) == run_id, "left")


def everything(engine: Engine) -> tuple[str, ...]:
    """Remove all that carries our label but images: they are nobody's leftovers."""
    return _remove(engine, lambda _: True, "is down; removed")


def listed(engine: Engine) -> tuple[Owned, ...]:
    """All that carries our label but images, in the order in which it can be removed, of runs and of names.

    On a manager of a swarm with what belongs to the swarm: services, secrets, networks that span its nodes. What a
    service of these runs in containers is part of it, and not named.
    """
    swarm = engine.owned_in_swarm(labels.RUN)
    services = {item.id for item in swarm if item.kind == "service"}
    here = (item for item in engine.owned(labels.RUN) if item.labels.get(_SERVICE) not in services)
    return tuple(
        sorted((*swarm, *here), key=lambda item: (_ORDER.index(item.kind), item.labels[labels.RUN], item.name))
    )


def _remove(engine: Engine, wanted: Callable[[Owned], bool], what: str) -> tuple[str, ...]:
    found = [item for item in listed(engine) if wanted(item)]
    away: Counter[str] = Counter()
    for item in found:
        match item.kind:
            case "service":
                away[item.labels[labels.RUN]] += len(engine.remove_service(item.id))
            case "container":
                engine.remove(item.id)
            case "secret":
                engine.remove_secret(item.id)
            case _:
                engine.remove_network(item.id)
    runs = dict.fromkeys(item.labels[labels.RUN] for item in found)
    return tuple(
        f"run {run} {what} {_counted(i for i in found if i.labels[labels.RUN] == run)}{_away(away[run])}"
        for run in runs
    )


def _counted(items: Iterable[Owned]) -> str:
    counts = Counter(item.kind for item in items)
    *most, last = [f"{number} {kind}{'s' if number != 1 else ''}" for kind, number in counts.items()]
    return f"{', '.join(most)} and {last}" if most else last


def _away(tasks: int) -> str:
    some = "1 task of it is" if tasks == 1 else f"{tasks} tasks of it are"
    return f"; {some} on a node that cannot be reached, and gone once it can" if tasks else ""
