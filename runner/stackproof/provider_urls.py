"""Where the providers of a setup are called: as its variables say, or a service that stands in for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from stackproof.catalog.records import ProviderSpec, SetupSpec
from stackproof.errors import UsageError
from stackproof.plan import Cell
from stackproof.recorder.settings import Provider

_NAMED = re.compile(r"\{(\w+)\}")


def of_setup(setup: SetupSpec, values: Mapping[str, str]) -> tuple[Provider, ...]:
    """Who is called in a setup, each with the URLs that `values`, the variables of its cell, give it."""
    return tuple(of_provider(spec, values) for spec in setup.providers)


def of_provider(spec: ProviderSpec, values: Mapping[str, str]) -> Provider:
    """One of them: the URL of its variable, the origin of that where it is called beside its path, and its own URLs."""
    prefixes = tuple(filter(None, (_filled(prefix, values) for prefix in spec.prefixes)))
    url = _with_scheme(values.get(spec.variable, "") if spec.variable else "")
    if url:
        parts = urlsplit(url)
        prefixes = (url, *((f"{parts.scheme}://{parts.netloc}",) if spec.origin else ()), *prefixes)
    return Provider(name=spec.name, variable=spec.variable, prefixes=tuple(dict.fromkeys(prefixes)))


def _filled(prefix: str, values: Mapping[str, str]) -> str | None:
    """A prefix with the values of the variables that it names; None when one is empty: it would match too much."""
    if not all(values.get(name) for name in _NAMED.findall(prefix)):
        return None
    return _with_scheme(_NAMED.sub(lambda found: values[found[1]].rstrip("/"), prefix))


def _with_scheme(url: str) -> str:
    # Some SDKs take a bare host name.
    return (url if not url or "://" in url else f"https://{url}").rstrip("/")


def served(cell: Cell, service_url: str) -> dict[str, str]:
    """The provider variables of the setup, each with the service's URL in the place of the provider's."""
    named = {provider.variable: provider.name for provider in cell.setup.providers if provider.variable}
    path, for_each = ("", "") if cell.service is None else (cell.service.api_path, cell.service.for_each)
    if for_each:
        apart = len(named) > 1 or _asks_for_others(cell)
        origin = service_url.removesuffix(path) + (for_each if apart else "")
        return {
            variable: origin.replace("{provider}", name) + _path_of(variable, path, cell.setup)
            for variable, name in named.items()
        }
    if len(named) > 1 and "{provider}" not in service_url:
        # At one URL nobody could tell their calls apart, and no replay would find them again.
        raise UsageError(
            f"one provider service cannot stand in for the {len(named)} providers of setup {cell.setup.name!r}",
            hint='in its service.yaml, for_each: "/for/{provider}" gives each a URL of its own, if it answers there',
        )
    return {variable: service_url.replace("{provider}", name) for variable, name in named.items()}


def _asks_for_others(cell: Cell) -> bool:
    """Whether the setup's models are none of the service's: it stands in for somebody else then, under any name."""
    names = {name.partition("/")[2] for name in cell.setup.models.values()}
    return cell.service is not None and bool(names) and names.isdisjoint(cell.service.models)


def _path_of(variable: str, api_path: str, setup: SetupSpec) -> str:
    """None for a variable whose own URL has none, as Anthropic's: its SDK appends the whole path itself."""
    own = setup.env.get(variable)
    return api_path if own is None or urlsplit(_with_scheme(own)).path.strip("/") else ""
