"""Reads `setups.yaml`: environments by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stackproof.catalog import combining, templates
from stackproof.catalog.names import check_name
from stackproof.catalog.records import ModelRole, ProviderSpec, SetupSpec, Wire
from stackproof.catalog.yaml_source import Section, read
from stackproof.suggest import did_you_mean


def load_setups(path: Path, *, shown: str, known: Mapping[str, SetupSpec] | None = None) -> dict[str, SetupSpec]:
    """All setups of one file; UsageError with file and line when something in it is wrong.

    known: those of other files, which a setup may combine, as it may those further up in its own.
    """
    file = read(path, what="the file of setups", shown=shown)
    setups: dict[str, SetupSpec] = {}
    if list(file.data) == ["setups"]:  # as suites.yaml has it
        file.fail("setups stand in this file by their names, without 'setups:' above them", hint="take that line out")
    for name, section in file.sections("setup"):
        check_name(file, "setup", name)
        setups[name] = _setup(name, section, source=path, known={**(known or {}), **setups})
    return setups


def _setup(name: str, section: Section, *, source: Path, known: Mapping[str, SetupSpec]) -> SetupSpec:
    section.only(
        "description",
        "combines",
        "env",
        "models",
        "embedding_dimension",
        "secrets",
        "optional_secrets",
        "needs",
        "replay",
        "providers",
        "service",
        "containers",
        "rules",
    )
    of = combining.parts(section, known)
    theirs = {variable: value for part in of for variable, value in part.env.items()}
    own = SetupSpec(
        name=name,
        description=_description(section, of),
        env=section.text_map("env"),
        models=_models(section),
        embedding_dimension=section.integer("embedding_dimension", minimum=1),
        secrets=section.texts("secrets"),
        optional_secrets=section.texts("optional_secrets"),
        needs=section.texts("needs"),
        replay=section.text_map("replay"),
        providers=_providers(section, theirs),
        service=section.text("service"),
        containers=section.texts("containers"),
        rules=section.rules(),
        source=source,
    )
    templates.check(section, "replay", ("folder",))
    return combining.combined(own, of, section) if of else own


def _description(section: Section, of: tuple[SetupSpec, ...]) -> str:
    """What it says; of one that combines others and says nothing, their names."""
    if of and "description" not in section.data:
        return " and ".join(part.name for part in of)
    return section.required_text("description")


def _models(section: Section) -> dict[ModelRole, str]:
    inner = section.section("models", f"'models' of {section.what}")
    if inner is None:
        return {}
    roles = [role.value for role in ModelRole]
    for key in inner.data:
        if key not in roles:
            inner.fail(
                f"unknown model role {key!r} in {section.what}{did_you_mean(key, roles)}",
                key=key,
                hint=f"known roles: {', '.join(roles)}",
            )
        if "/" not in inner.required_text(key):
            inner.fail(f"model {inner.data[key]!r} in {section.what} must be written provider/model", key=key)
    return {role: inner.required_text(role) for role in ModelRole if role.value in inner.data}


def _providers(section: Section, theirs: Mapping[str, str]) -> tuple[ProviderSpec, ...]:
    inner = section.section("providers", f"'providers' of {section.what}")
    if inner is None:
        return ()
    known = {**theirs, **section.text_map("env")}
    return tuple(_provider(name, item, known) for name, item in inner.sections("provider"))


def _provider(name: str, section: Section, known: Mapping[str, str]) -> ProviderSpec:
    section.only("variable", "origin", "prefixes", "speaks")
    spec = ProviderSpec(
        name=name,
        variable=section.text("variable"),
        origin=section.boolean("origin", default=False),
        prefixes=section.texts("prefixes"),
        speaks=_speaks(section),
    )
    if spec.variable is None and not spec.prefixes:
        section.fail(f"{section.what} needs a 'variable' or 'prefixes'")
    for prefix in spec.prefixes:
        if not prefix.startswith(("http://", "https://", "{")):
            section.fail(
                f"prefix {prefix!r} of {section.what} must start with http://, https:// or {{VARIABLE}}", key="prefixes"
            )
        for variable in re.findall(r"\{(\w+)\}", prefix):
            if variable not in known:
                section.fail(
                    f"prefix {prefix!r} of {section.what} names {variable}, which is not in 'env' of the setup"
                    + did_you_mean(variable, known),
                    key="prefixes",
                )
    return spec


def _speaks(section: Section) -> tuple[Wire, ...]:
    known = [wire.value for wire in Wire]
    for name in section.texts("speaks"):
        if name not in known:
            section.fail(
                f"{section.what} speaks {name!r}, which is not known{did_you_mean(name, known)}",
                key="speaks",
                hint=f"known protocols: {', '.join(known)}",
            )
    return tuple(Wire(name) for name in section.texts("speaks")) if "speaks" in section.data else (Wire.CHAT,)
