"""Where the Docker engine is, and who said so: DOCKER_HOST, a context by DOCKER_CONTEXT or the CLI's file, the default.

The order and the files are those of Docker's own command line (`docker context`): config.json names the current
context, contexts/meta/<sha256 of its name>/meta.json holds its address, contexts/tls/ its certificates.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stackproof.errors import DockerError
from stackproof.evidence import jsonfile

DEFAULT = "unix:///var/run/docker.sock"
_PASSWORD = re.compile(r"(?<=://)([^:@/\s]*):[^/\s]*@")
_ROOTLESS = "docker.sock"  # below XDG_RUNTIME_DIR


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An engine's address; `source` says where it came from, in the words of messages. tls: folder of certificates.

    environ: what a program that leads there is given.
    """

    url: str
    source: str
    tls: Path | None = None
    verify: bool = True
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        """As messages name it, without a password that somebody has put into it."""
        return f"{masked(self.url)} ({self.source})"

    @property
    def socket(self) -> Path | None:
        """The path of a Unix socket; None for an engine that is reached otherwise."""
        return Path(self.url.removeprefix("unix://")) if self.url.startswith("unix://") else None

    @property
    def ssh(self) -> bool:
        """Whether it is reached over ssh."""
        return self.url.startswith("ssh://")


def masked(text: str) -> str:
    """A text without the passwords of addresses in it."""
    return _PASSWORD.sub(r"\1:***@", text)


def choose(environ: Mapping[str, str]) -> Endpoint:
    """The endpoint that `docker` itself would use in this environment; DockerError for a context that is not there."""
    return replace(_chosen(environ), environ=environ)


def _chosen(environ: Mapping[str, str]) -> Endpoint:
    host = environ.get("DOCKER_HOST", "").strip()
    if host:
        # As for `docker`: whatever they are set to counts, and a folder of certificates by itself asks for no TLS.
        verify = bool(environ.get("DOCKER_TLS_VERIFY"))
        folder = Path(environ.get("DOCKER_CERT_PATH") or _config(environ))
        tls = folder if verify or environ.get("DOCKER_TLS") else None
        return Endpoint(url=_with_scheme(host), source="DOCKER_HOST", tls=tls, verify=verify)
    name, source = environ.get("DOCKER_CONTEXT", "").strip(), "DOCKER_CONTEXT"
    if not name:
        settings = jsonfile.read(_config(environ) / "config.json") or {}
        name, source = (
            str(settings.get("currentContext") or ""),
            f"currentContext in {_config(environ) / 'config.json'}",
        )
    if name and name != "default":
        return _context(name, source, environ)
    return _default(environ)


def _default(environ: Mapping[str, str]) -> Endpoint:
    # A rootless engine has its socket in the user's own runtime folder, and no context where it was set up by hand.
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and not Path(DEFAULT.removeprefix("unix://")).exists() and (Path(runtime) / _ROOTLESS).exists():
        return Endpoint(url=f"unix://{Path(runtime) / _ROOTLESS}", source="XDG_RUNTIME_DIR")
    return Endpoint(url=DEFAULT, source="default")


def _context(name: str, source: str, environ: Mapping[str, str]) -> Endpoint:
    digest = hashlib.sha256(name.encode()).hexdigest()
    folder = _config(environ) / "contexts"
    meta = jsonfile.read(folder / "meta" / digest / "meta.json")
    engine = _docker(meta)
    url = engine.get("Host")
    if not isinstance(url, str) or not url:
        raise DockerError(
            f"there is no Docker context {name!r} ({source})",
            hint="`docker context ls` lists them; `docker context use NAME` chooses one, or set DOCKER_HOST",
        )
    tls = folder / "tls" / digest / "docker"
    return Endpoint(
        url=url,
        source=f"context {name!r} of {source}",
        tls=tls if tls.is_dir() else None,
        verify=not engine.get("SkipTLSVerify", False),
    )


def _docker(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    endpoints = (meta or {}).get("Endpoints")
    engine = endpoints.get("docker") if isinstance(endpoints, dict) else None
    return engine if isinstance(engine, dict) else {}


def _config(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("DOCKER_CONFIG") or Path(environ.get("HOME") or Path.home()) / ".docker")


def _with_scheme(host: str) -> str:
    # Docker's command line takes an address without a scheme for TCP, and a bare path for nothing at all.
    return host if "://" in host else f"tcp://{host}"
