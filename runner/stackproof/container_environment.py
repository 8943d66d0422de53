"""Which variables go into a container: what the run sets and the stack is told, and nothing of the caller's machine."""

from __future__ import annotations

from collections.abc import Mapping

from stackproof import proxies
from stackproof.environment import Environment
from stackproof.options import RunOptions
from stackproof.plan import Cell


def inside(cell: Cell, options: RunOptions, built: Environment) -> Mapping[str, str]:
    """Pick from the stack's variables, secrets among them. PATH, HOME and the like are the image's own."""
    named = names(cell, options)
    if cell.stack.python_path:
        named |= {"PYTHONPATH"}
    return {
        name: value
        for name, value in built.stack.items()
        if name in named or name.startswith("STACKPROOF_") or proxies.is_one(name)
    }


def names(cell: Cell, options: RunOptions) -> frozenset[str]:
    """The variables that setup, stack and options speak of: nothing else of the caller's is meant for a stack."""
    setup, stack = cell.setup, cell.stack
    found = {
        *setup.env,
        *setup.all_secrets,
        *setup.needs,
        *setup.replay,
        *stack.env,
        *stack.variables.values(),
        *stack.edge.variables,
        *(name for spec in cell.containers for name in spec.provides),
        *(pair.partition("=")[0] for pair in options.env),
        *(provider.variable for provider in setup.providers if provider.variable),
    }
    return frozenset(found)
