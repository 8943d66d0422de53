"""The variables of a stack whose provider calls go through the edge. Does no I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stackproof.catalog.edge import RecorderPlace
from stackproof.edge.addresses import Addresses, own_url, without_secrets
from stackproof.edge.places import NOT_YET, Places
from stackproof.errors import UsageError
from stackproof.recorder.mode import Mode
from stackproof.recorder.providers import Providers
from stackproof.recorder.settings import VARIABLE, Provider
from stackproof.suggest import did_you_mean

if TYPE_CHECKING:
    from stackproof.plan import Cell

_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d+)?(/\S*)?")


def is_at_edge(cell: Cell) -> bool:
    """Whether an edge stands between the stack of a cell and its providers; in live mode nothing stands there."""
    return cell.stack.recorder is RecorderPlace.EDGE and cell.inference_mode is not Mode.LIVE


def with_own_address(cell: Cell) -> tuple[str, ...]:
    """The providers that get an address of their own: those whose URL a variable of the setup holds."""
    return tuple(spec.name for spec in cell.setup.providers if spec.variable)


def wired(stack: Mapping[str, str], cell: Cell, providers: Sequence[Provider], places: Places | None) -> dict[str, str]:
    """The stack's variables with every provider's URL led to the edge, and without the recorder's settings.

    places: None where they are not known yet. UsageError for a variable that holds another URL of a provider: calls to
    it would go past the edge, unseen.
    """
    where = NOT_YET if places is None else places
    led = {
        provider.variable: _url(provider, where) for provider in providers if provider.variable and provider.prefixes
    }
    led |= _further(cell, providers, where)
    known = Providers(providers)
    for name, value in stack.items():
        if name not in led and not name.startswith("STACKPROOF_") and (to := _provider(value, known)) is not None:
            raise UsageError(
                f"{name}={without_secrets(value)} leads stack {cell.stack.name!r} to {to} past the edge, where its "
                f"calls would not be {'recorded' if cell.inference_mode.records else 'replayed'}",
                hint=f"unset {name}, or lead it to the edge, in its stack.yaml: edge: {{variables: {{{name}: {to}}}}}",
            )
    return {**{name: value for name, value in stack.items() if name != VARIABLE}, **led}


def urls(providers: Sequence[Provider], where: Places) -> dict[str, str]:
    """Every provider that can be reached -> its URL at the edge, those of the setup first."""
    told = {provider.name: provider for provider in providers if provider.prefixes}
    return {
        name: _url(told[name], where) if name in told else f"{where.url}/{name}" for name in Addresses(providers).names
    }


def _url(provider: Provider, where: Places) -> str:
    address = where.own_address(provider.name)
    return f"{where.url}/{provider.name}" if address is None else own_url(provider.prefixes[0], address)


def _further(cell: Cell, providers: Sequence[Provider], where: Places) -> dict[str, str]:
    there = urls(providers, where)
    further = {}
    for variable, text in cell.stack.edge.variables.items():
        name, slash, rest = text.partition("/")
        if name not in there:
            raise UsageError(
                f"{cell.stack.source}: {variable} is led to {name!r}, which is no provider of setup "
                f"{cell.setup.name!r} and not well known{did_you_mean(name, there)}",
                hint=f"there are: {', '.join(there)}",
            )
        further[variable] = there[name] + slash + rest
    return further


def _provider(value: str, known: Providers) -> str | None:
    """The provider that a variable's value leads to: a URL, or a host as some SDKs take it."""
    if "://" in value:
        candidates: tuple[str, ...] = (value,)
    elif _HOST.fullmatch(value) and ("." in value or ":" in value):
        candidates = (f"https://{value}", f"http://{value}")
    else:
        return None
    for url in candidates:
        found = known.match(url)
        if found is not None:
            return found.provider
    return None
