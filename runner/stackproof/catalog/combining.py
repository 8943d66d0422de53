"""Setups made of others: software that calls two providers needs the variables, secrets and URLs of both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from stackproof.catalog.records import ModelRole, ProviderSpec, SetupSpec
from stackproof.catalog.yaml_source import Section
from stackproof.suggest import did_you_mean

T = TypeVar("T")


def parts(section: Section, known: Mapping[str, SetupSpec]) -> tuple[SetupSpec, ...]:
    """The setups that `combines` names, built in or further up in the same file. UsageError for an unknown one."""
    names = section.texts("combines")
    for name in names:
        if name not in known:
            section.fail(
                f"{section.what} combines {name!r}, which is not known{did_you_mean(name, known)}",
                key="combines",
                hint=f"built-in setups, and those further up in {section.shown}: {', '.join(known)}",
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def combined(own: SetupSpec, of: tuple[SetupSpec, ...], section: Section) -> SetupSpec:
    """`own` with all that `of` have and it does not say itself: of two that name a model for one role, the first.

    UsageError where two of them give one variable, or one provider, differently.
    """
    env: dict[str, str] = {}
    providers: dict[str, ProviderSpec] = {}
    replay: dict[str, str] = {}
    for part in of:
        _join(env, part.env, own.env, section, kind="variable", key="env")
        named = {each.name: each for each in part.providers}
        _join(providers, named, [each.name for each in own.providers], section, kind="provider", key="providers")
        # The folder that is meant is that of the file which says so.
        folder = str(part.source.parent.absolute())
        replay |= {name: value.replace("{folder}", folder) for name, value in part.replay.items()}
    models: dict[ModelRole, str] = {}
    for each in (own, *of):
        models = {**each.models, **models}
    measured = next((each for each in (own, *of) if ModelRole.EMBEDDING in each.models), own)
    services = [each.service for each in (own, *of) if each.service]
    return replace(
        own,
        env={**env, **own.env},
        models=models,
        embedding_dimension=own.embedding_dimension or measured.embedding_dimension,
        secrets=_union(each.secrets for each in (own, *of)),
        optional_secrets=_union(each.optional_secrets for each in (own, *of)),
        needs=_union(each.needs for each in (own, *of)),
        replay={**replay, **own.replay},
        providers=tuple({**providers, **{each.name: each for each in own.providers}}.values()),
        service=next(iter(services), None),
        containers=_union(each.containers for each in (own, *of)),
        rules=tuple(rule for each in (*of, own) for rule in each.rules),
    )


def _join(
    there: dict[str, T], new: Mapping[str, T], own: Collection[str], section: Section, *, kind: str, key: str
) -> None:
    """Add what is not there yet. What is there and other is refused, unless the setup itself says it."""
    for name, value in new.items():
        if name not in own and there.setdefault(name, value) != value:
            section.fail(
                f"the setups that {section.what} combines do not agree on {kind} {name!r}",
                key="combines",
                hint=f"say what it is in {section.what} itself, in {key!r}",
            )


def _union(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in several for name in names))
