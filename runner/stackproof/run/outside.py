"""What a container that calls out is told of the world outside: how this machine's providers and proxies are reached
from in there, and the certificate authorities that this machine trusts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from stackproof import proxies
from stackproof.errors import DockerError
from stackproof.plan import Cell
from stackproof.stack.endpoint import masked
from stackproof.stack.place import Place

AUTHORITIES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables by which OpenSSL, requests, curl, botocore and Node are told of a file with certificates."""


def moved(cell: Cell, values: Mapping[str, str], where: Place) -> dict[str, str]:
    """The providers and proxies of this machine, by their variables, as a container of `where` can call them.

    Those of other machines are called as they are, and are not in it: what is in it is called past a proxy. DockerError
    where it cannot.
    """
    named = (provider.variable for provider in cell.setup.providers if provider.variable)
    found = {name: where.outward(url) for name in named if (url := values.get(name))}
    ways: dict[str, str] = {}
    for name, url in proxies.named(values).items():
        if url not in ways:
            try:
                ways[url] = where.outward(url)
            except DockerError as error:
                raise DockerError(
                    f"{name} names a proxy that containers cannot call: {masked(error.message)}",
                    hint=f"name it by an address that they can call, say --env {name}= to go without, or start the "
                    "stack as server:NAME",
                ) from error
        found[name] = ways[url]
    return {name: url for name, url in found.items() if url != values[name]}


def authorities(values: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables of AUTHORITIES that name a file, each with the copy of it in `folder`, which the container sees."""
    found: dict[str, str] = {}
    copies: dict[str, str] = {}
    for name in AUTHORITIES:
        file = values.get(name, "")
        if not file or not Path(file).is_file() or not os.access(file, os.R_OK):
            continue
        if file not in copies:
            folder.mkdir(parents=True, exist_ok=True)
            copy = folder.absolute() / f"authorities-{len(copies)}.pem"
            shutil.copyfile(file, copy)
            copies[file] = str(copy)
        found[name] = copies[file]
    return found
