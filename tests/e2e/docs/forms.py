"""What of a form is never typed: `[--json]`, `NAME` and the like, of which a page lists what a command takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import click
from tests.e2e.docs.command_lines import parts, words

from stackproof.cli.main import cli


def untyped(form: Iterable[str], typed: Iterable[str]) -> Iterator[str]:
    """Each command, and each option of it, that the form has and none of these lines types."""
    there = _options(typed)
    for path, options in _options(form).items():
        if path not in there:
            yield f"{path} is not typed"
        yield from (f"{path} is not typed with {option}" for option in sorted(options - there.get(path, set())))


def _options(lines: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        for command in parts(line):
            if (path := _path(said := words(command))) is not None:
                found[path] |= {word.partition("=")[0] for word in said if word.startswith("--") and word != "--"}
    return found


def _path(said: list[str]) -> str | None:
    match said:
        case ["python", "-m", module, *_]:
            return module
        case ["stackproof", *rest]:
            pass
        case _:
            return None
    command: click.Command = cli
    context = click.Context(cli, info_name="stackproof")
    path = ["stackproof"]
    for word in rest:
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            break
        command = found
        path.append(word)
    return " ".join(path)
