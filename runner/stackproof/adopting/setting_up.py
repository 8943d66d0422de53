"""Which setup a project's tests take: a built-in one, or one of its own that init writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from stackproof.adopting import sdks
from stackproof.adopting.found import Client, Found
from stackproof.catalog.records import ModelRole, ProviderSpec, SetupSpec

FALLBACK = "gpt"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """name: of the setup. written: what stacks/setups.yaml says of it, None where it is there already.

    secrets: variables of keys that a real call needs. urls: variable -> provider, for whoever has another address.
    needs: variables that a real call needs beside keys. sure: files told; otherwise it is a guess.
    """

    name: str
    written: Mapping[str, object] | None = None
    secrets: tuple[str, ...] = ()
    urls: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    sure: bool = True


def of_setup(spec: SetupSpec, *, sure: bool = True) -> Choice:
    """A setup that is there."""
    return Choice(
        name=spec.name,
        secrets=spec.secrets,
        urls={provider.variable: provider.name for provider in spec.providers if provider.variable},
        needs=spec.needs,
        sure=sure,
    )


def choose(found: Found, name: str, setups: Mapping[str, SetupSpec]) -> Choice:
    """The built-in setup that says all that the code needs, else one called `name`."""
    clients = _distinct(found.clients)
    if not clients:
        return of_setup(setups[FALLBACK], sure=False)
    plain = [client for client in clients if _is_plain(client, setups)]
    built_in = list(dict.fromkeys(filter(None, (sdks.PROVIDERS[client.provider].setup for client in plain))))
    if len(plain) == len(clients):
        if len(built_in) == 1:
            return of_setup(setups[built_in[0]])
        return _combined(name, [setups[each] for each in built_in])
    return _own(name, clients, setups)


def _combined(name: str, specs: list[SetupSpec]) -> Choice:
    return Choice(
        name=name,
        written={"combines": [spec.name for spec in specs]},
        secrets=tuple(dict.fromkeys(secret for spec in specs for secret in spec.secrets)),
        urls={each.variable: each.name for spec in specs for each in spec.providers if each.variable},
        needs=tuple(dict.fromkeys(need for spec in specs for need in spec.needs)),
    )


def _own(name: str, clients: list[Client], setups: Mapping[str, SetupSpec]) -> Choice:
    env: dict[str, str] = {}
    secrets: list[str] = []
    needs: list[str] = []
    providers: dict[str, dict[str, object]] = {}
    models: dict[str, str] = {}
    for client in clients:
        known = sdks.PROVIDERS[client.provider]
        spec = setups.get(known.setup or "")
        built = next((each for each in spec.providers if each.name == known.provider), None) if spec else None
        variable = client.url or (built.variable if built else None) or known.variable
        usual = (spec.env.get(built.variable or "") if spec and built else None) or known.url
        literal = client.literal if "://" in (client.literal or "") else None
        own_host = literal is not None and not _same_host(literal, usual)
        provider = _unused(_called(client, literal) if own_host else known.provider, providers)
        entry: dict[str, object] = {}
        if literal is not None and client.url is None:
            entry["prefixes"] = [literal]
        else:
            entry["variable"] = variable
            env[variable] = literal or usual
            if client.url is not None and client.literal is None:
                needs.append(variable)
        if built is not None and not own_host:
            entry |= _more(built)
        providers[provider] = entry
        secrets += [client.key] if client.key else spec.secrets if spec else [known.key] if known.key else []
        if spec is not None and client.url is None and built is not None:
            env |= {key: value for key, value in spec.env.items() if key not in env and key != built.variable}
        if (model := client.model or _usual_model(spec)) and "text" not in models:
            models["text"] = f"{provider}/{model}"
    written: dict[str, object] = {"description": _described(providers), "env": env}
    written |= {"secrets": list(dict.fromkeys(secrets))} if secrets else {}
    written |= {"needs": needs} if needs else {}
    written |= {"providers": providers}
    written |= {"models": models} if models else {}
    return Choice(
        name=name,
        written=written,
        secrets=tuple(dict.fromkeys(secrets)),
        urls={str(entry["variable"]): each for each, entry in providers.items() if "variable" in entry},
        needs=tuple(needs),
    )


def _distinct(clients: Iterable[Client]) -> list[Client]:
    """One for each way to reach a provider; which model it is asked for makes no difference."""
    found: dict[tuple[object, ...], Client] = {}
    for client in clients:
        key = (client.provider, client.url, client.key, client.literal if client.url is None else None)
        if key not in found or (client.model and not found[key].model):
            found[key] = client
    # What is only imported says less than what is made with a URL of its own.
    told = {client.provider for client in found.values() if client.url or client.literal or client.key}
    return [
        client for client in found.values() if client.url or client.literal or client.key or client.provider not in told
    ]


def _is_plain(client: Client, setups: Mapping[str, SetupSpec]) -> bool:
    """Whether the built-in setup of its provider has the variables that the code reads, and the host that it names."""
    spec = setups.get(sdks.PROVIDERS[client.provider].setup or "")
    if spec is None:
        return False
    variables = {provider.variable for provider in spec.providers}
    usual = next((spec.env.get(each.variable or "", "") for each in spec.providers), "")
    if client.url is not None and client.url not in variables:
        return False
    if client.url is None and client.literal is not None and not _same_host(client.literal, usual):
        return False
    return client.key is None or client.key in spec.all_secrets


def _same_host(one: str, other: str) -> bool:
    def bare(url: str) -> str:
        return urlsplit(url if "://" in url else f"//{url}").netloc.replace("127.0.0.1", "localhost")

    return bare(one) == bare(other)


def _called(client: Client, literal: str | None) -> str:
    host = urlsplit(literal or "").hostname or ""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", host) if word not in ("api", "www", "com", "ai", "io", "net")]
    return "models" if host in ("localhost", "") or host[:1].isdigit() else (words[0] if words else client.provider)


def _unused(name: str, taken: Mapping[str, object]) -> str:
    return next(each for each in (name, *(f"{name}-{number}" for number in range(2, 99))) if each not in taken)


def _more(built: ProviderSpec) -> dict[str, object]:
    found: dict[str, object] = {}
    if built.origin:
        found["origin"] = True
    found["speaks"] = [wire.value for wire in built.speaks]
    return found


def _usual_model(spec: SetupSpec | None) -> str | None:
    model = spec.models.get(ModelRole.TEXT) if spec is not None else None
    return model.partition("/")[2] if model else None


def _described(providers: Mapping[str, object]) -> str:
    names = list(providers)
    return f"Whom the code calls: {names[0] if len(names) == 1 else ', '.join(names[:-1]) + ' and ' + names[-1]}"
