"""Proxies, bundles of authorities and package indexes that are set: names, and hosts without who signs in there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from stackproof.doctor.finding import Finding, odd, ok
from stackproof.doctor.place import Place

_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
_FOLDERS = ("SSL_CERT_DIR",)
_INDEXES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL")
_INDEXES_OF_NODE = ("NPM_CONFIG_REGISTRY", "npm_config_registry")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProxyFacts:
    """proxies, indexes: variable → host and port, empty where the value is no address. disagree: pairs of variables
    that differ in nothing but their letters, and say different things. certificates: variable → path, and what is wrong
    with it, if anything is. exceptions: whether NO_PROXY is set. socks: a proxy that only some libraries can use.
    """

    proxies: Mapping[str, str]
    socks: tuple[str, ...]
    disagree: tuple[str, ...]
    exceptions: bool
    certificates: Mapping[str, tuple[str, str | None]]
    indexes: Mapping[str, str]


def look(place: Place) -> ProxyFacts:
    """Read the environment; of a file of certificates only whether it is there."""
    environ = place.environ
    names = [name for upper in _PROXIES for name in (upper, upper.lower()) if environ.get(name, "").strip()]
    certificates = {
        name: (place.short(environ[name]), _wrong(Path(environ[name]), folder=name in _FOLDERS))
        for name in (*_FILES, *_FOLDERS)
        if environ.get(name)
    }
    return ProxyFacts(
        proxies={name: host_of(environ[name]) for name in names},
        socks=tuple(name for name in names if environ[name].lower().startswith("socks")),
        disagree=tuple(
            name
            for name in (*_PROXIES, "NO_PROXY")
            if environ.get(name, environ.get(name.lower())) != environ.get(name.lower(), environ.get(name))
        ),
        exceptions=bool(environ.get("NO_PROXY") or environ.get("no_proxy")),
        certificates=certificates,
        indexes={name: host_of(environ[name]) for name in (*_INDEXES, *_INDEXES_OF_NODE) if environ.get(name)},
    )


def judge(facts: ProxyFacts) -> Iterator[Finding]:
    """Does each lead somewhere? In replay none of them is used."""
    for name, host in facts.proxies.items():
        if not host:
            yield odd(
                "proxies.address",
                name,
                "is set to something that is no address of a proxy",
                f"write it as `{name}=http://HOST:PORT`, or unset it",
            )
    for name in facts.socks:
        yield odd(
            "proxies.socks",
            name,
            "leads through SOCKS, which httpx needs the package socksio for, and requests PySocks",
            "install what the SDK's HTTP library asks for, or name an HTTP proxy",
        )
    for name in facts.disagree:
        yield odd(
            "proxies.disagree",
            f"{name} and {name.lower()}",
            "say different things, and libraries differ in which of them they believe",
            "set both to the same, or unset one",
        )
    for name, (path, wrong) in facts.certificates.items():
        if wrong is not None:
            yield odd(
                "proxies.certificates",
                name,
                f"names {path}, which {wrong}; libraries that read it fail with errors of TLS",
                "correct the path, or unset the variable",
            )
    fine = [f"{name} leads to {host}" for name, host in facts.proxies.items() if host]
    fine += list(_named(facts.certificates))
    fine += [f"{name} names {host or 'an index'}" for name, host in facts.indexes.items()]
    if facts.proxies:
        fine.append("NO_PROXY is set" if facts.exceptions else "NO_PROXY is not set")
        fine.append("what a run starts on this machine is never called through a proxy, and a replay needs none")
    yield ok("proxies.set", "proxies", "; ".join(fine) if fine else "none, and no certificates or indexes of one's own")


def _named(certificates: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
    """Variables that name the same file in one breath."""
    paths = dict.fromkeys(path for path, wrong in certificates.values() if wrong is None)
    for path in paths:
        names = [name for name, (other, wrong) in certificates.items() if wrong is None and other == path]
        yield f"{', '.join(names)} name{'s' if len(names) == 1 else ''} {path}"


def host_of(text: str) -> str:
    """`host:port` of an address, with its scheme where it is not http; nothing of a user or a password.

    Empty where it is no address.
    """
    # An address may be written without a scheme.
    whole = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError:
        return ""
    host = parts.hostname or ""
    if parts.scheme not in _SCHEMES or not host or any(letter.isspace() for letter in whole):
        return ""
    scheme = "" if parts.scheme in ("http", "https") else f"{parts.scheme}://"
    return f"{scheme}{host}{'' if port is None else f':{port}'}"


def _wrong(path: Path, *, folder: bool) -> str | None:
    if folder:
        return None if path.is_dir() else "is no folder"
    if not path.is_file():
        return "is no file" if path.exists() else "is not there"
    try:
        with path.open("rb") as file:
            start = file.read(1 << 20)
    except OSError:
        return "cannot be read"
    return None if b"-----BEGIN" in start else "holds no certificate"
