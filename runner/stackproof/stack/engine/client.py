"""A client of Docker's SDK for one engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackproof.stack.endpoint import Endpoint

if TYPE_CHECKING:
    from docker import APIClient

CALL = 60.0
"""Seconds for any call that is not a wait by itself."""


def client_of(where: Endpoint, version: str, timeout: float) -> APIClient:
    """A client of the SDK. version: of the API. timeout: seconds for each of its calls."""
    import docker  # noqa: PLC0415 - slow to import, and needed for containers alone

    tls: Any = False
    if where.tls is not None:
        tls = docker.tls.TLSConfig(
            client_cert=(str(where.tls / "cert.pem"), str(where.tls / "key.pem")),
            ca_cert=str(where.tls / "ca.pem") if where.verify else None,
            verify=where.verify,
        )
    client = docker.APIClient(base_url=where.url, version=version, timeout=int(timeout), tls=tls)
    if where.tls is not None:
        _keep_authority(client)
    return client


def dotted(version: tuple[int, int]) -> str:
    """A version of the API as the engine writes it."""
    return f"{version[0]}.{version[1]}"


def _keep_authority(client: APIClient) -> None:
    """REQUESTS_CA_BUNDLE and the like are for the world outside; requests would put them in the engine's own place."""
    merge = client.merge_environment_settings

    def merged(url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        return merge(url, proxies, stream, client.verify if verify is None else verify, cert)

    client.merge_environment_settings = merged  # type: ignore[method-assign]
