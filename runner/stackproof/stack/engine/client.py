"""A client of Docker's SDK for one engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackproof.stack import tls_words
from stackproof.stack.endpoint import Endpoint
from stackproof.stack.engine_words import Reason, UnreachableError

if TYPE_CHECKING:
    from docker import APIClient

CALL = 60.0
"""Seconds for any call that is not a wait by itself."""


def client_of(where: Endpoint, version: str, timeout: float) -> APIClient:
    """A client of the SDK. version: of the API. timeout: seconds for each of its calls."""
    import docker  # noqa: PLC0415 - slow to import, and needed for containers alone

    if where.ssh:
        return _over_ssh(where, version, timeout)
    tls: Any = False if where.tls is None else _certificates(where.tls, verify=where.verify)
    client = docker.APIClient(base_url=where.url, version=version, timeout=int(timeout), tls=tls)
    # Proxies, bundles of authorities (REQUESTS_CA_BUNDLE) and passwords (.netrc) are for the world outside: requests
    # would call an engine through them, or put them in the place of its own.
    client.trust_env = False
    return client


def _certificates(folder: Path, *, verify: bool) -> Any:
    import docker  # noqa: PLC0415

    lacks = tls_words.incomplete(folder, verify=verify)
    if lacks is not None:
        text, remedy = lacks
        raise UnreachableError(Reason(text=text, remedy=remedy))
    own = (str(folder / "cert.pem"), str(folder / "key.pem")) if (folder / "cert.pem").exists() else None
    return docker.tls.TLSConfig(client_cert=own, ca_cert=str(folder / "ca.pem") if verify else None, verify=verify)


def _over_ssh(where: Endpoint, version: str, timeout: float) -> APIClient:
    import docker  # noqa: PLC0415

    from stackproof.stack.engine.ssh import SshAdapter  # noqa: PLC0415 - of the SDK

    # Of a socket that nobody asks for: to the SDK the way is a Unix socket, and what is at its end no business of it.
    client = docker.APIClient(base_url="unix:///over/ssh", version=version, timeout=int(timeout))
    try:
        client.mount("http+docker://", SshAdapter(where.url, where.environ, timeout))
    except BaseException:
        client.close()
        raise
    return client


def dotted(version: tuple[int, int]) -> str:
    """A version of the API as the engine writes it."""
    return f"{version[0]}.{version[1]}"
