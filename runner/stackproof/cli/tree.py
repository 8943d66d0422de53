"""Every command of the tree below a group, for what is made from all of them: pages and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One command. path: its words below the root, none for the root itself; context: as it has it in use."""

    path: tuple[str, ...]
    command: click.Command
    context: click.Context


def walk(root: click.Command, *, name: str = "stackproof") -> Iterator[Node]:
    """The root and every command below it, a group before its commands. All of them are imported."""
    yield from _below(root, root.context_class(root, info_name=name, **root.context_settings), ())


def _below(command: click.Command, context: click.Context, path: tuple[str, ...]) -> Iterator[Node]:
    yield Node(path=path, command=command, context=context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                inner = found.context_class(found, info_name=name, parent=context, **found.context_settings)
                yield from _below(found, inner, (*path, name))
