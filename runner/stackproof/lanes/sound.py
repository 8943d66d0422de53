"""Whether a lane can work: it has a trigger and something to do, what its machine needs, and no secret too many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackproof.catalog.preparing import PrepareSpec
from stackproof.catalog.records import Catalog, SetupSpec, StackMode
from stackproof.catalog.yaml_source import Section
from stackproof.lanes.records import Lane, LaneCell, Trigger
from stackproof.suggest import did_you_mean

MOST_SHARDS = 200
"""Jobs of one lane: GitLab's `parallel` takes no more, and GitHub's matrix 256 of all lanes."""


def check(lane: Lane, section: Section, things: Catalog) -> None:
    """UsageError with file and line for a lane that never runs, does nothing, or cannot do what it says."""
    work = {
        "cells or checks": bool(lane.cells or lane.checks),
        "a smoke": bool(lane.smoke),
        "record": bool(lane.record),
    }
    does = [name for name, there in work.items() if there]
    if len(does) != 1:
        section.fail(
            f"{section.what} has {' and '.join(does)}: these are lanes of their own"
            if does
            else f"{section.what} has nothing to do: give it 'cells', 'checks', 'smoke' or 'record'"
        )
    if not lane.triggers:
        section.fail(f"{section.what} has no trigger, so it never runs", key="triggers")
    if (lane.schedule is not None) is not (Trigger.SCHEDULE in lane.triggers):
        lacks = "a 'schedule'" if lane.schedule is None else "the trigger schedule"
        section.fail(f"{section.what} lacks {lacks}", key="schedule" if lane.schedule else "triggers")
    if lane.label is not None and Trigger.PULL_REQUEST not in lane.triggers:
        section.fail(f"{section.what} waits for a label, and pull_request is none of its triggers", key="label")
    _shards(lane, section)
    _secrets(lane, section, things)
    _machine(lane, section, things)


def check_together(lanes: Mapping[str, Lane], section: Section) -> None:
    """UsageError where two lanes that run for one commit make the same evidence, which would contradict itself."""
    for trigger in (trigger for trigger in Trigger if trigger.together):
        holders: dict[str, str] = {}
        for lane in (lane for lane in lanes.values() if trigger in lane.triggers):
            for part in (*(each.cell.title for each in lane.cells), *(check.value for check in lane.checks)):
                if (other := holders.setdefault(part, lane.name)) != lane.name:
                    section.fail(f"lanes {other!r} and {lane.name!r} of {trigger} both run {part}", key=lane.name)


def _shards(lane: Lane, section: Section) -> None:
    if lane.shards == 1:
        return
    if why := undivided(lane):
        section.fail(f"{section.what} {why}", key="shards")
    if lane.shards > MOST_SHARDS:
        section.fail(
            f"'shards' of {section.what} is {lane.shards}, and a job of GitLab's runs at most {MOST_SHARDS} times",
            key="shards",
        )


def undivided(lane: Lane) -> str | None:
    """Why a lane is one job whatever is asked, to put behind its name; None for one that several may share."""
    if lane.smoke is not None:
        return "makes real calls within one budget, which each of several jobs would spend"
    if lane.record is not None:
        return "records, and several jobs would write into the same recordings"
    return None


def _secrets(lane: Lane, section: Section, things: Catalog) -> None:
    known = sorted({name for setup in things.setups.values() for name in setup.all_secrets})
    for name in lane.secrets:
        if name not in known:
            section.fail(
                f"no setup has the secret {name!r} of {section.what}{did_you_mean(name, known)}",
                key="secrets",
                hint="a secret is named in `secrets` of a setup (stackproof setups); anything else is a variable",
            )
    for key, names in (("variables", lane.variables), ("env", tuple(lane.env))):
        if open_ := next((name for name in names if name in known), None):
            section.fail(f"{open_} in {key!r} of {section.what} is a secret: list it in 'secrets'", key=key)
    used = _setups(lane, things)
    if extra := [name for name in lane.secrets if not any(name in setup.all_secrets for setup in used)]:
        section.fail(f"{section.what} has the secret {extra[0]}, and nothing that it runs takes it", key="secrets")
    if lane.smoke is not None and lane.smoke.provider_service is None:
        for setup in used:
            if lacking := [each for each in setup.secrets if each not in setup.env and each not in lane.secrets]:
                section.fail(f"setup {setup.name!r} calls with {lacking[0]}, which {section.what} lacks", key="secrets")
    if lane.secrets and (bare := [trigger for trigger in lane.triggers if not trigger.trusted]):
        section.fail(
            f"{section.what} has secrets and runs at {bare[0]}, before anybody has read the change", key="triggers"
        )
    if lane.secrets and lane.environment is None:
        section.fail(f"{section.what} has secrets and no 'environment' that guards them", key="secrets")


def _setups(lane: Lane, things: Catalog) -> list[SetupSpec]:
    """Those that are called for real."""
    recorded: Iterable[LaneCell] = lane.record.cells if lane.record is not None else ()
    names = [*(lane.smoke.setups if lane.smoke is not None else ()), *(each.cell.setup for each in recorded)]
    return [things.setups[name] for name in dict.fromkeys(names)]


def _machine(lane: Lane, section: Section, things: Catalog) -> None:
    """What the cells need has to be in `needs`."""
    recorded = lane.record.cells if lane.record is not None else ()
    python = tuple(int(part) for part in lane.python.split("."))
    for each in (*lane.cells, *recorded):
        mode, _, name = each.cell.stack.partition(":")
        stack, suite = things.stacks.get(name), things.suites.get(each.cell.suite)
        if stack is None or suite is None:
            continue  # of the release policy, which says so by itself when it runs
        inside = StackMode(mode).in_containers
        who = f"{section.what} runs {each.cell.title}, which needs"
        if inside and not lane.docker:
            section.fail(f"{who} docker", key="needs", hint="add docker to 'needs' of the lane")
        if not inside and stack.python is not None and not stack.python.fits((python[0], python[1])):
            section.fail(
                f"{who} {stack.python.words}, and its Python is {lane.python}",
                key="needs",
                hint="say which, as python3.12, in 'needs' of the lane",
            )
        prepared = [None if inside else stack.prepare, suite.runner.prepare if suite.runner is not None else None]
        if not lane.node and any(_wants_node(spec) for spec in prepared):
            section.fail(f"{who} Node.js", key="needs", hint="add node to 'needs' of the lane")


def _wants_node(spec: PrepareSpec | None) -> bool:
    return spec is not None and not {"node", "npm"}.isdisjoint({*spec.needs, spec.command[0]})
