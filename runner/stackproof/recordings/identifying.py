"""The identity of a request that somebody describes, as the recorder would compute it from the request itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from stackproof.errors import UsageError
from stackproof.recorder import rules
from stackproof.recorder.identity import Identity, describe, digest
from stackproof.recorder.interaction import Call, Request
from stackproof.recorder.providers import Providers, Target
from stackproof.recorder.scope import STACK_NAME, Scope
from stackproof.recorder.settings import Provider
from stackproof.suggest import unknown

_NAMED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """A request as a person gives it: a URL, or a provider and a path below its URL. `method` is empty for the usual
    one: POST where there is a body, else GET. `headers` by lower-case names; only the content type has a part in it.
    """

    url: str | None
    provider: str | None
    path: str | None
    method: str
    headers: Mapping[str, str]
    body: bytes


def identify(
    described: Described,
    *,
    scope: str,
    providers: Sequence[Provider],
    values: Mapping[str, str],
    active: Sequence[Mapping[str, Any]],
) -> Call:
    """The call that the recorder would make of it. `values`: of the variables that a URL may name as `{NAME}`.

    UsageError where no provider is called, or where nothing of such a call is ever recorded.
    """
    target, url = _target(described, providers, values)
    if target.gives_tokens or Providers.is_token_endpoint(url):
        raise UsageError(
            f"{url} gives out tokens, so a call to it is never recorded and has no identity",
            hint="name another path of the provider",
        )
    headers = dict(described.headers)
    if described.body:
        headers.setdefault("content-type", "application/json")
    method = (described.method or ("POST" if described.body else "GET")).upper()
    plain = describe(
        provider=target.provider,
        method=method,
        path=target.path,
        query=target.query,
        content_type=headers.get("content-type", ""),
        body=described.body,
    )
    form = rules.apply(plain, active)
    owner = Scope(name=scope, test_id=None if scope == STACK_NAME else scope)
    return Call(
        request=Request(method=method, url=url, headers=headers, body=described.body),
        target=target,
        plain=plain,
        form=form,
        scope=owner,
        identity=Identity(scope=owner.digest, request=digest(form)),
        acted=rules.acted(plain, active),
    )


def _target(described: Described, providers: Sequence[Provider], values: Mapping[str, str]) -> tuple[Target, str]:
    if described.url is not None and (described.provider or described.path):
        raise UsageError("--url names the provider and the path already", hint="leave --provider and --path out")
    if described.url is not None:
        return _by_url(described.url, providers, values)
    if not described.provider or not described.path:
        raise UsageError(
            "nothing says where the request goes", hint="name it with --url URL, or with --provider NAME --path /…"
        )
    # A provider may be known by its host alone, to the setup or to the recorder.
    known = {one.name: one for one in providers}
    if described.provider not in known:
        raise unknown("provider", described.provider, known, where="--provider")
    one = known[described.provider]
    parts = urlsplit(described.path)
    shown = f"{{{one.variable or one.name}}}"
    path = parts.path if parts.path.startswith("/") else f"/{parts.path}"
    return Target(provider=one.name, path=path, query=parts.query, shown=shown), f"{shown}{described.path}"


def _by_url(given: str, providers: Sequence[Provider], values: Mapping[str, str]) -> tuple[Target, str]:
    def value(match: re.Match[str]) -> str:
        if not values.get(match[1]):
            names = [one.variable for one in providers if one.variable]
            raise unknown("variable", match[1], names, where="--url")
        return values[match[1]].rstrip("/")

    url = _NAMED.sub(value, given)
    if not urlsplit(url).scheme or not urlsplit(url).netloc:
        raise UsageError(f"--url: {given} is no URL", hint="write it as http://HOST/PATH or {NAME_URL}/PATH")
    target = Providers(providers).match(url)
    if target is None:
        known = sorted({prefix for one in providers for prefix in one.prefixes})
        raise UsageError(
            f"--url: {url} belongs to no provider of this setup, so a call to it is not recorded",
            hint=f"providers of the setup: {', '.join(known) or 'none'}",
        )
    return target, url
