"""Who was called: from a URL to a setup, its provider, and the path that the recorder would compare.

A setup is chosen by the hosts that its providers have by default, the first in the catalog's order where several have
the same. Within it the source's own host and port take the place of the default ones, as the setup's variable would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from stackproof.catalog.records import ProviderSpec, SetupSpec
from stackproof.recorder.providers import Providers, Target, is_below
from stackproof.recorder.settings import Provider
from stackproof.recordings.importing.imported import Choices, RefusedSource

_WELL_KNOWN = Providers(())
# Hosts for every region that the recorder knows by a setup's prefix only: the pattern, and the provider.
_REGIONAL = ((re.compile(r"bedrock-mantle\.[a-z0-9-]+\.api\.aws"), "bedrock"),)


def find(
    url: str, choices: Choices, *, base: str | None = None, run: SetupSpec | None = None
) -> tuple[SetupSpec, Target]:
    """The setup and the provider that `url` belongs to.

    base: the base URL that an SDK was given, where the source tells; else the part of the URL that is the setup's
    base URL is found by its path. run: the setup that the calling test ran with, where the source tells: what it asks
    of a well-known provider beside its own (a search, embeddings) is recorded with that setup, too. RefusedSource when
    nobody can tell who was called.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise RefusedSource("its URL cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise RefusedSource("its URL names no host")
    known, owner = _WELL_KNOWN.match(url), choices.setup or run
    if owner is not None and choices.provider is None:
        if not any(_is_at_home(url, host, owner, spec) for spec in owner.providers):
            if known is not None:
                return owner, known
            owner = choices.setup
        choices = replace(choices, setup=owner)
    setup, spec = _chosen(url, host, choices)
    if base is None and known is not None and known.provider == spec.name and not (spec.variable or spec.prefixes):
        return setup, known  # a provider without a URL of its own is called where everybody calls it
    told = Provider(name=spec.name, variable=spec.variable, prefixes=tuple(_prefixes(url, base, setup, spec)))
    target = Providers((told,)).match(url)
    if target is None or target.provider != spec.name:
        raise RefusedSource(f"its path is not below the URL of provider {spec.name!r} in setup {setup.name!r}")
    return setup, target


def _chosen(url: str, host: str, choices: Choices) -> tuple[SetupSpec, ProviderSpec]:
    setups = [choices.setup] if choices.setup is not None else list(choices.setups.values())
    named = [
        (setup, spec) for setup in setups for spec in setup.providers if choices.provider in (None, spec.name)
    ]  # fmt: skip
    for setup, spec in named:
        if _is_at_home(url, host, setup, spec):
            return setup, spec
    if choices.setup is not None and len(named) == 1:
        return named[0]
    if choices.provider is not None and named:
        return named[0]
    if choices.setup is not None and named:
        raise RefusedSource(f"setup {choices.setup.name!r} has several providers and none at {host}; say --provider")
    raise RefusedSource(f"no setup has a provider at {host}; say --setup or --provider")


def _is_at_home(url: str, host: str, setup: SetupSpec, spec: ProviderSpec) -> bool:
    if any(pattern.fullmatch(host) and spec.name == provider for pattern, provider in _REGIONAL):
        return True
    default = _default(setup, spec)
    if default and is_below(url, _origin(default)):
        return True
    if any(_matched(prefix, url) for prefix in spec.prefixes):
        return True
    known = _WELL_KNOWN.match(url)
    return known is not None and known.provider == spec.name


def _prefixes(url: str, base: str | None, setup: SetupSpec, spec: ProviderSpec) -> Iterator[str]:
    """The URL prefixes that the provider would have, if the setup's variable held the source's URL. The first is it."""
    origin = _origin(url)
    prefix = origin + urlsplit(_default(setup, spec)).path.rstrip("/")
    yield base.rstrip("/") if base is not None and not is_below(url, prefix) else prefix
    yield from filter(None, (_matched(template, url) for template in spec.prefixes))
    # Whatever is at that host is the provider's, as with `origin: true`: the source says that it was called.
    yield origin


def _default(setup: SetupSpec, spec: ProviderSpec) -> str:
    url = setup.env.get(spec.variable, "") if spec.variable else ""
    return url if not url or "://" in url else f"https://{url}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _matched(template: str, url: str) -> str | None:
    """The beginning of `url` that a prefix with `{NAME}` in it stands for."""
    parts = [
        ("https?://[^/]+" if index == 0 else "[^/]+") if piece.startswith("{") else re.escape(piece)
        for index, piece in enumerate(filter(None, re.split(r"(\{\w+\})", template)))
    ]
    found = re.match("".join(parts) + "(?=/|$|\\?)", url)
    return found.group() if found else None
