"""Where packages come from: what the caller's environment says to uv and OpenSSL, in the words of pip and Node.

Stackproof fetches with pip, which reads its own variables, pip.conf and ~/.netrc, and the proxies, by itself. Whoever
has uv alone has said the same in other names. Nothing of it goes onto a command line. Does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlsplit, urlunsplit

_OWN_AUTHORITIES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def for_pip(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with what pip takes from no other name; what is said to pip itself stays as it is."""
    found = {
        "PIP_INDEX_URL": " ".join(_indexes(environment, "UV_DEFAULT_INDEX", "UV_INDEX_URL")),
        "PIP_EXTRA_INDEX_URL": " ".join(_indexes(environment, "UV_INDEX", "UV_EXTRA_INDEX_URL")),
        "PIP_FIND_LINKS": " ".join(environment.get("UV_FIND_LINKS", "").split(",")),
        "PIP_TRUSTED_HOST": environment.get("UV_INSECURE_HOST", ""),
        # Before version 24.2 it knew its own authorities only, and a Python may come with an older one.
        "PIP_CERT": "" if _any(environment, *_OWN_AUTHORITIES) else environment.get("SSL_CERT_FILE", ""),
    }
    said = {name: value.strip() for name, value in found.items() if value.strip() and not environment.get(name)}
    return {**environment, **said}


def for_node(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with the authorities of OpenSSL's variable for Node.js and npm, which read another one."""
    given = environment.get("SSL_CERT_FILE")
    if not given or _any(environment, "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "NPM_CONFIG_CAFILE"):
        return dict(environment)
    return {**environment, "NODE_EXTRA_CA_CERTS": given}


def _any(environment: Mapping[str, str], *names: str) -> bool:
    return any(environment.get(name) for name in names)


def _indexes(environment: Mapping[str, str], *names: str) -> Iterator[str]:
    """The URLs that uv's variables name, the newer variable first and alone; `name=URL` has credentials beside it."""
    text = next((environment[name] for name in names if environment.get(name)), "")
    for word in text.split():
        name, equals, url = word.partition("=")
        if equals and re.fullmatch(r"[\w.-]+", name):
            yield _with_credentials(url, name, environment)
        else:
            yield word


def _with_credentials(url: str, name: str, environment: Mapping[str, str]) -> str:
    prefix = f"UV_INDEX_{re.sub('[^A-Z0-9]', '_', name.upper())}"
    user, password = environment.get(f"{prefix}_USERNAME", ""), environment.get(f"{prefix}_PASSWORD", "")
    parts = urlsplit(url)
    if "@" in parts.netloc or not (user or password):
        return url
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))
