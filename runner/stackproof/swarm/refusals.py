"""What cannot be run as shards on a swarm, said before anything is built or started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from stackproof.catalog.records import StackMode
from stackproof.errors import UsageError
from stackproof.plan import Cell, Plan
from stackproof.recorder.mode import Mode

_HERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - compared, not bound
_ALONE = "leave out --engine swarm and --shards"


def check(plan: Plan, caller: Mapping[str, str]) -> None:
    """UsageError for a plan that no swarm can carry out."""
    options = plan.options
    for given, what in (
        (options.coverage is not None, "--coverage: what shards measured is not put together"),
        (options.keep, "--keep: a stack in a task ends with it"),
        (options.collect_only, "--collect-only lists the tests of a project, which needs no swarm"),
        (options.provider_service is not None, "--provider-service: it would run on this machine alone"),
        (options.post_command is not None, "--post-command would run in every task"),
    ):
        if given:
            raise UsageError(what, hint=_ALONE)
    for cell in plan.cells:
        for sentence, hint in _cell(cell, plan, caller):
            raise UsageError(f"{cell.title}: {sentence}", hint=hint)


def _cell(cell: Cell, plan: Plan, caller: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name = cell.stack.name
    if cell.mode.in_containers:
        beside = StackMode.LIBRARY if cell.mode is StackMode.DOCKER_LIBRARY else StackMode.SERVER
        yield (
            "the tasks of a swarm are containers themselves, and start none",
            f"--stack-config {beside}:{name} runs the stack inside of them",
        )
    if cell.mode is StackMode.REMOTE:
        yield "a stack that runs already is not a swarm's to start", _ALONE
    if cell.suite.runner is not None:
        yield f"its tests are run by {cell.suite.runner.name}, and a task has pytest alone", _ALONE
    if cell.stack.prepare is not None:
        yield f"stack {name!r} is prepared on a machine with a network first, which no task has", _ALONE
    if cell.service is not None:
        yield (
            f"setup {cell.setup.name!r} starts {cell.service.name}, which would run on this machine alone",
            f"say where the nodes reach one: {_variables(cell)}, or use --inference-mode replay",
        )
    if cell.inference_mode is not Mode.REPLAY:
        yield from _unreachable(cell, plan, caller)


def _unreachable(cell: Cell, plan: Plan, caller: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    given = {**cell.setup.env, **caller, **dict(pair.split("=", 1) for pair in plan.options.env)}
    for provider in cell.setup.providers:
        url = given.get(provider.variable or "", "")
        if urlsplit(url).hostname in _HERE:
            yield (
                f"{provider.variable} is {url}, which on a node of the swarm is that node",
                f"give the address that the nodes reach it at: --env {provider.variable}=http://…",
            )


def _variables(cell: Cell) -> str:
    return " ".join(f"--env {provider.variable}=…" for provider in cell.setup.providers if provider.variable)
