"""What a shell offers for a word that is being typed: names of the project, read quickly and without a complaint.

Each function is click's `shell_complete` of a parameter: (context, parameter, what is typed so far) -> offers. Whatever
is wrong with the project, there is nothing to offer then; the command itself says what is wrong.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from stackproof.option_kinds import Option
from stackproof.plaintext import counted

if TYPE_CHECKING:
    from stackproof.catalog.records import Catalog

Offers = list[CompletionItem[str]]
Offer = Callable[[click.Context, click.Parameter, str], Offers]
Names = Iterable[tuple[str, str]]

VARIABLE = "_STACKPROOF_COMPLETE"  # what a shell asks for, as `bash_complete`; click names it so
_RUNS = 100  # the newest


def _catalog(context: click.Context) -> Catalog:
    known: Catalog = context.obj.catalog()
    return known


def _offers(names: Names, incomplete: str) -> Offers:
    return [CompletionItem(name, help=text or None) for name, text in names if name.startswith(incomplete)]


def _one(names: Callable[[click.Context], Names]) -> Offer:
    """Offers for a value that is one name."""
    return lambda context, _parameter, incomplete: _offers(names(context), incomplete)


def _several(names: Callable[[click.Context], Names]) -> Offer:
    """Offers for a value that may be several names by comma."""

    def offer(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Offers:
        before, comma, last = incomplete.rpartition(",")
        taken = set(before.split(","))
        return [
            CompletionItem(f"{before}{comma}{item.value}", help=item.help)
            for item in _offers(names(context), last)
            if item.value not in taken
        ]

    return offer


def _suites(context: click.Context) -> Names:
    return [(spec.name, spec.description) for spec in _catalog(context).suites.values()]


def _setups(context: click.Context) -> Names:
    return [(spec.name, spec.description) for spec in _catalog(context).setups.values()]


def _stacks(context: click.Context) -> Names:
    specs = _catalog(context).stacks.values()
    return [(f"{mode.value}:{spec.name}", spec.description) for spec in specs for mode in spec.modes]


def _standing(context: click.Context) -> Names:
    return [(name, text) for name, text in _stacks(context) if name.startswith(("server:", "docker:"))]


def _stack_names(context: click.Context) -> Names:
    return [(spec.name, spec.description) for spec in _catalog(context).stacks.values()]


def _services(context: click.Context) -> Names:
    for spec in _catalog(context).services.values():
        yield spec.name, spec.description
        if spec.docker is not None and spec.contained is None:
            yield f"docker:{spec.name}", spec.description


def _lanes(context: click.Context) -> Names:
    from stackproof.lanes import read  # noqa: PLC0415

    return [(lane.name, "") for lane in read.load(context.obj.project, known=_catalog(context)).lanes.values()]


def _claims(context: click.Context) -> Names:
    from stackproof.verdict import policy  # noqa: PLC0415

    return [(each.name, each.invariant) for each in policy.claims_of(context.obj.project).claims.values()]


def _runs(context: click.Context) -> Names:
    folder = context.obj.project / ".stackproof" / "runs"
    found = [(entry.stat().st_mtime, entry.name) for entry in os.scandir(folder) if entry.is_dir()]
    newest = sorted(found, reverse=True)[:_RUNS]
    return [(name, datetime.fromtimestamp(when).strftime("%d %b %H:%M")) for when, name in newest]  # noqa: DTZ006 - for the eye


def _last_or_runs(context: click.Context) -> Names:
    return [("last", "the newest run"), *_runs(context)]


def _pages(_context: click.Context) -> Names:
    from stackproof.cli.pages import contents  # noqa: PLC0415

    return [(page.name, page.title) for page in contents.known(contents.folder())]


def words(*known: str) -> Offer:
    """Offers that are the same everywhere."""
    return lambda _context, _parameter, incomplete: _offers([(word, "") for word in known], incomplete)


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Offers:
    """Whatever the shell itself offers for a path."""
    return [CompletionItem(incomplete, type="file")]


def folders(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Offers:
    """Whatever the shell itself offers for a folder."""
    return [CompletionItem(incomplete, type="dir")]


def tests(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Offers:
    """Test files that have recordings, and the tests of one once it is certain which."""
    from stackproof.cli import recorded_scopes  # noqa: PLC0415

    found = [scope for scope in recorded_scopes.of(context) if scope.startswith(incomplete)]
    below = Counter(scope.partition("::")[0] for scope in found)
    if "::" not in incomplete and len(below) > 1:
        return [CompletionItem(file, help=counted(number, "recorded test")) for file, number in sorted(below.items())]
    return [CompletionItem(scope) for scope in sorted(found)]


def of_option(option: Option) -> Offer | None:
    """Offers for an option of the table of a run."""
    return words(*option.choices) if option.choices else _OF_A_RUN.get(option.name)


suites, setups, stacks = _several(_suites), _several(_setups), _several(_stacks)
suite, setup, service, lane, claim = map(_one, (_suites, _setups, _services, _lanes, _claims))
standing_stack, stack, run, last_run, page = map(_one, (_standing, _stack_names, _runs, _last_or_runs, _pages))

_OF_A_RUN: Mapping[str, Offer] = {
    "suite": suites,
    "setup": setups,
    "stack_config": stacks,
    "provider_service": service,
    "file": files,
    "timings": files,
    "python": files,
    "recording_dir": folders,
    "subdirs": folders,
    "shard": words("auto"),
    "workers": words("auto"),
    "pace": words("instant", "recorded"),
    "chunk_fuzz": words("bytes"),
    "together": words("module", "file", "class"),
}
