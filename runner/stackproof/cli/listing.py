"""`stackproof setups | stacks | suites`: what there is to name, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackproof import console
from stackproof.catalog.records import BesideSpec, Catalog, ServiceSpec, SetupSpec, StackSpec, SuiteSpec

SCHEMA = 1


def setups(catalog: Catalog, *, as_json: bool, environ: Mapping[str, str]) -> None:
    """Every setup with its models and secrets."""
    if as_json:
        print_json({"schema": SCHEMA, "setups": [facts(spec) for spec in catalog.setups.values()]})
        return
    rows = [
        (
            spec.name,
            ", ".join(role.value for role in spec.models),
            ", ".join((*spec.secrets, *spec.needs)) or "–",
            spec.description,
        )
        for spec in catalog.setups.values()
    ]
    console.table(rows, head=("setup", "models for", "needs", "description"), environ=environ)


def stacks(catalog: Catalog, *, as_json: bool, environ: Mapping[str, str]) -> None:
    """Every stack with its modes, the provider services, and what runs in containers beside a stack."""
    if as_json:
        services = [facts(spec) for spec in catalog.services.values()]
        containers = [facts(spec) for spec in catalog.containers.values()]
        named = [facts(spec) for spec in catalog.stacks.values()]
        print_json({"schema": SCHEMA, "stacks": named, "services": services, "containers": containers})
        return
    rows = [
        (", ".join(f"{mode}:{spec.name}" for mode in spec.modes), spec.description) for spec in catalog.stacks.values()
    ]
    for service in catalog.services.values():
        also = f", docker:{service.name}" if service.docker is not None and service.contained is None else ""
        rows.append((f"service {service.name}{also}", service.description))
    rows += [(f"container {spec.name}", spec.description) for spec in catalog.containers.values()]
    console.table(rows, head=("stack", "description"), environ=environ)


def suites(catalog: Catalog, *, as_json: bool, environ: Mapping[str, str]) -> None:
    """Every suite with its roots and default setup."""
    if as_json:
        print_json({"schema": SCHEMA, "suites": [facts(spec) for spec in catalog.suites.values()]})
        return
    rows = [
        (spec.name, spec.default_setup, ", ".join(spec.roots), spec.description) for spec in catalog.suites.values()
    ]
    console.table(rows, head=("suite", "default setup", "roots", "description"), environ=environ)


def show_setup(spec: SetupSpec, *, as_json: bool, environ: Mapping[str, str]) -> None:
    """One setup in full; of secrets, the names and whether the caller has them, never a value."""
    if as_json:
        present = [name for name in spec.all_secrets if environ.get(name)]
        print_json({"schema": SCHEMA, **facts(spec), "present": present})
        return
    console.out(f"{spec.name}: {spec.description}")
    for name, value in spec.env.items():
        if name in spec.all_secrets:
            continue
        theirs = environ.get(name)
        console.out(f"  {name}={theirs or value}" + ("   from your environment" if theirs else ""))
    for name in spec.secrets:
        default = "set by the setup" if spec.env.get(name) else "not set; replay does without"
        console.out(f"  {name}   secret, {'set in your environment' if environ.get(name) else default}")
    for name in spec.optional_secrets:
        console.out(f"  {name}   secret, {'set in your environment' if environ.get(name) else 'not needed'}")
    for provider in spec.providers:
        known = [*([f"the URL in {provider.variable}"] if provider.variable else []), *provider.prefixes]
        console.out(f"  provider {provider.name}: {', '.join(known)}")
    for role, model in spec.models.items():
        dimension = (
            f", {spec.embedding_dimension} dimensions" if role == "embedding" and spec.embedding_dimension else ""
        )
        console.out(f"  {role.value} model: {model}{dimension}")
    if spec.service is not None:
        console.out(f"  service {spec.service}, started when a run records or is live")
    for name in spec.containers:
        console.out(f"  container {name}, started beside a stack that runs in one")
    console.out(f"  from {_short(spec.source)}")


def facts(spec: SetupSpec | StackSpec | ServiceSpec | BesideSpec | SuiteSpec) -> dict[str, Any]:
    """A record as plain data."""
    return asdict(spec)


def print_json(value: object) -> None:
    """JSON on standard output, readable and stable."""
    console.out(json.dumps(value, indent=2, ensure_ascii=False, default=_short))


def _short(value: object) -> str:
    if isinstance(value, Path) and value.is_relative_to(Path.cwd()):
        return value.relative_to(Path.cwd()).as_posix()
    return str(value)
