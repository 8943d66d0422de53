"""Whom the calls of a smoke went to: hosts by name, and whether they are those that the setup itself names. No I/O.

A key and a URL of a stand-in are enough for a smoke that passes, so evidence says where its calls went.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from stackproof.catalog.records import ProviderSpec, SetupSpec

_HERE = "this machine"


def called(
    providers: Iterable[str], setup: SetupSpec, variables: Mapping[str, str], service: str | None
) -> tuple[tuple[str, ...], bool]:
    """The hosts, or `service NAME` where one was started in their place; and whether the setup itself names them all.

    variables: as the calls had them, which may say another URL than the setup. A provider whose URL the setup wants
    from the caller (a tenant's) may have any that is not of this machine. Nothing is said of ports and paths.
    """
    if service is not None:
        return (f"service {service}",), service == setup.service
    found: dict[str, bool] = {}
    known = {spec.name: spec for spec in setup.providers}
    for name in sorted(set(providers)):
        spec = known.get(name)
        url = "" if spec is None else variables.get(spec.variable or "", "") or next(iter(spec.prefixes), "")
        host = _host(url)
        found[host or f"an address of {name} that cannot be told"] = spec is not None and _is_own(host, spec, setup)
    return tuple(found), bool(found) and all(found.values())


def _is_own(host: str, spec: ProviderSpec, setup: SetupSpec) -> bool:
    if spec.variable in setup.needs:
        return bool(host) and not _is_loopback(host)
    own = {_host(url) for url in (setup.env.get(spec.variable or "", ""), *spec.prefixes)} - {""}
    return _known_as(host) in {_known_as(each) for each in own}


def _host(url: str) -> str:
    try:
        return (urlsplit(url.strip()).hostname or "").rstrip(".")
    except ValueError:  # half an IPv6 address
        return ""


def _known_as(host: str) -> str:
    return _HERE if _is_loopback(host) else host


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    # An unspecified address is answered by this machine, too.
    return address.is_loopback or address.is_unspecified
