"""Reads command lines of a page with the parser of the command itself, and looks for what they name in this project."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import click
from tests.e2e.docs.blocks import PROJECT

from stackproof import catalog
from stackproof.catalog.records import Catalog
from stackproof.cli.main import cli

# What a nox session hands its arguments to; the others give them to another program.
_SESSIONS = {
    "integration": ("run",),
    "live_smoke": ("smoke",),
    "verify_release": ("verify-release",),
    "lane": ("lane", "run"),
    "benchmark": ("benchmark",),
    "typecheck": ("typecheck",),
    "tests": None,
    "lint": None,
}
_ASSIGNMENT = re.compile(r"[A-Z_][A-Za-z0-9_]*=")
# `a|b` is a choice, `[x]` may be left out, two spaces and words are what it does.
_TOLD = re.compile(r"\s{2,}\S.*$|\s#\s.*$")


def wrong(line: str) -> Iterator[str]:
    """What is not so in a command line: an unknown command, option, choice, argument, or a name that nothing has."""
    for command in parts(line):
        match words(command):
            case ["stackproof", *rest] | ["python", "-m", "stackproof", *rest]:
                yield from _ours(rest)
            case ["nox", "-s", session, *rest] | ["python", "-m", "nox", "-s", session, *rest]:
                yield from _nox(session, rest)
            case ["python", "-m", module, *rest] if module.startswith("ci."):
                yield from _module(module, rest)
            case _:
                pass


def parts(line: str) -> list[str]:
    """The commands of a line, without what it says of them."""
    # Several commands in one line, and a form that names two of them, separated by a comma.
    return re.split(r"\s(?:&&|\||;)\s|,\s(?=stackproof )", _TOLD.sub("", line.replace("\\\n", " ")))


def words(command: str) -> list[str]:
    """The words of a command, each of those that may be left out among them."""
    # `…` stands for words that were said before.
    text = re.sub(r"[\[\]]", " ", command).replace("…", " ")
    found = shlex.split(text.split(" < ")[0].split(" > ")[0], comments=True)
    while found and _ASSIGNMENT.match(found[0]):
        found.pop(0)
    if found and found[0].endswith(("/stackproof", "/nox", "/python")):
        found[0] = found[0].rpartition("/")[2]
    return [word for word in found if word != "|"]


def _nox(session: str, rest: Sequence[str]) -> Iterator[str]:
    if session not in _SESSIONS:
        yield f"no session {session!r} in noxfile.py"
        return
    ours = _SESSIONS[session]
    if ours is not None:
        yield from _ours([*ours, *rest[1:]] if rest[:1] == ["--"] else [*ours, *rest])


def _ours(words: Sequence[str]) -> Iterator[str]:
    command: click.Command = cli
    context = click.Context(cli, info_name="stackproof", **cli.context_settings)
    rest = list(words)
    while isinstance(command, click.Group):
        if not rest or rest[0].startswith("-"):
            break
        found = command.get_command(context, rest[0])
        if found is None:
            yield f"no command {rest[0]!r} of {context.command_path}"
            return
        command, context = found, click.Context(found, info_name=rest.pop(0), parent=context)
    if "--" in rest:
        rest = rest[: rest.index("--")]
    if command.context_settings.get("ignore_unknown_options"):
        return
    try:
        values, left, _ = command.make_parser(context).parse_args(args=rest)
    except click.UsageError as error:
        yield f"{context.command_path}: {error.format_message()}"
        return
    yield from (f"{context.command_path}: {word} is too much" for word in left)
    for parameter in command.get_params(context):
        value = values.get(parameter.name or "")
        for text in value if isinstance(value, (list, tuple)) else (value,):
            yield from _value(parameter, text)


def _value(parameter: click.Parameter, text: object) -> Iterator[str]:
    if not isinstance(text, str) or text.isupper():  # a name to fill in
        return
    choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
    if choices and not set(text.split("|")) <= {str(choice) for choice in choices}:
        yield f"{text!r} is no choice of {'/'.join(parameter.opts)}"
    if (named := _NAMED.get(parameter.name or "")) is not None:
        known = named(_catalog())
        yield from (f"nothing is called {name!r} ({parameter.opts[0]})" for name in _names(text) if name not in known)


def _names(text: str) -> list[str]:
    # server:reference is a stack called reference; a URL is one that runs somewhere.
    return [name.rpartition(":")[2] for name in text.split(",") if "://" not in name and not name.isupper()]


_NAMED: dict[str, Callable[[Catalog], Sequence[str] | set[str]]] = {
    # `probe`, `toy`, `desk`, `gateway`, `shop` are names of the pages' own examples.
    "suite": lambda known: {*known.suites, "desk"},
    "setup": lambda known: {*known.setups, "local"},
    "stack_config": lambda known: {*known.stacks, "desk", "toy"},
    "provider_service": lambda known: {*known.services},
}


@cache
def _catalog() -> Catalog:
    return catalog.load(PROJECT)


def _module(name: str, rest: Sequence[str]) -> Iterator[str]:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        yield f"no module {name}"
        return
    # ci/NAME.py, or all of the folder ci/NAME.
    files = (
        [Path(spec.origin)]
        if name.count(".") == 1 and not spec.submodule_search_locations
        else (Path(spec.origin).parent.rglob("*.py"))
    )
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    options = (word.partition("=")[0] for word in rest if word.startswith("--"))
    yield from (f"{name} has no {option}" for option in options if f'"{option}"' not in source)
