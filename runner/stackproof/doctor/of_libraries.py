"""HTTP libraries that calls are recorded through, and the versions from which on that works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stackproof.doctor.clients import HTTP, SDKS
from stackproof.doctor.finding import Finding, missing, odd, ok, some
from stackproof.doctor.place import Place
from stackproof.recorder.patching import version_of
from stackproof.recorder.transports import aiohttp_client, httpx_family, urllib3_pool

LOWEST: Mapping[str, tuple[int, ...]] = {
    **httpx_family.LOWEST,
    "aiohttp": aiohttp_client.LOWEST,
    "urllib3": urllib3_pool.LOWEST,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryFacts:
    """installed: HTTP libraries with their versions. sdks: clients of providers.

    impostors: what is installed in the place of a library, under the same name to import: `urllib3-future`.
    """

    installed: Mapping[str, str]
    sdks: tuple[str, ...] = ()
    impostors: tuple[str, ...] = ()


def look(place: Place) -> LibraryFacts:
    """Read which versions are installed; none is imported."""
    found = {name: version for name in HTTP if (version := place.version(name)) is not None}
    sdks = [name for name in SDKS if place.version(name) is not None]
    impostors = [name for name in ("urllib3-future",) if place.version(name) is not None]
    return LibraryFacts(installed=found, sdks=tuple(sdks), impostors=tuple(impostors))


def judge(facts: LibraryFacts) -> Iterator[Finding]:
    """Can the recorder answer through each of them?"""
    fine = []
    for name, version in facts.installed.items():
        lowest = LOWEST.get(name)
        if lowest is not None and version_of(version) < lowest:
            needed = ".".join(map(str, lowest))
            yield missing(
                "libraries.version",
                f"{name} {version}",
                f"is refused as soon as a test imports it: calls are recorded from version {needed} on",
                f"`python -m pip install '{name}>={needed}'`",
            )
        else:
            fine.append(f"{name} {version}")
    for name in facts.impostors:
        yield odd(
            "libraries.impostor",
            name,
            "takes the place of urllib3, and nobody has tried to record through it",
            f"`python -m pip uninstall {name}`, then `python -m pip install --force-reinstall urllib3`",
        )
    said = f"calls are recorded through {', '.join(fine)}" if fine else "none that calls are recorded through is here"
    sdks = f"; clients of providers: {some(facts.sdks, 6)}" if facts.sdks else ""
    yield ok("libraries.found", "libraries", said + sdks)
