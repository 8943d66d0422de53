"""Which setups a smoke calls, with which models of them, and which it does not. Does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackproof.catalog.records import Catalog, SetupSpec
from stackproof.errors import UsageError
from stackproof.live.opt_in import VARIABLE, LiveModel, NotWanted, live_models, named, not_wanted


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """One setup. models: may be called. missing: may not, with the reason; one at least where there are no models."""

    setup: SetupSpec
    models: tuple[LiveModel, ...]
    missing: tuple[NotWanted, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """All setups. left_out: models, as they were asked for, that are of none of the setups that were named."""

    setups: tuple[Chosen, ...]
    left_out: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[LiveModel, ...]:
        """All that may be called."""
        return tuple(model for each in self.setups for model in each.models)

    @property
    def missing(self) -> tuple[NotWanted, ...]:
        """All that may not."""
        return tuple(each for chosen in self.setups for each in chosen.missing)


def choose(
    setups: tuple[str, ...],
    environ: Mapping[str, str],
    known: Catalog,
    *,
    served: bool = False,
    because: str | None = None,
) -> Choice:
    """The setups that were named, each with those models of STACKPROOF_LIVE_MODEL that its providers have.

    Without names: those of the providers that the variable names, each model in one. served, because: as `live_models`
    has them. UsageError for a name that is not known, and for a variable that is written wrong.
    """
    if not setups:
        found = live_models(environ, known, served=served, because=because)
        groups: dict[str, list[LiveModel | NotWanted]] = {}
        for each in found:
            groups.setdefault(each.setup, []).append(each)
        return Choice(setups=tuple(_chosen(known.setup(name), items) for name, items in groups.items()))
    asked = named(environ)
    chosen = []
    for name in dict.fromkeys(setups):
        setup = known.setup(name, where="--setup")
        if not setup.providers:
            raise UsageError(
                f"--setup: setup {name!r} names no provider that could be called",
                hint=f"add one below `providers` in {setup.source}, or name another: `stackproof setups` lists them",
            )
        own = {spec.name for spec in setup.providers}
        words = ",".join(f"{provider}/{model}" for provider, model in asked if provider in own)
        if words:
            narrowed = {**environ, VARIABLE: words}
            items = live_models(narrowed, known, setup=name, served=served, because=because)
        else:
            items = (_none_of_it(setup, environ, bool(asked), served=served, because=because),)
        chosen.append(_chosen(setup, items))
    # All words are looked at, so that a slip of the pen in one shows, whatever was asked for.
    live_models(environ, known, served=True)
    inside = {spec.name for each in chosen for spec in each.setup.providers}
    left_out = tuple(f"{provider}/{model}" for provider, model in asked if provider not in inside)
    return Choice(setups=tuple(chosen), left_out=left_out)


def _none_of_it(
    setup: SetupSpec, environ: Mapping[str, str], asked: bool, *, served: bool, because: str | None
) -> NotWanted:
    first = setup.providers[0]
    if not asked:
        return not_wanted(setup, first, environ, served=served, because=because)
    own = " or ".join(spec.name for spec in setup.providers)
    reason = f"{VARIABLE} names no model of {own}, whom setup {setup.name} calls"
    return NotWanted(reason=reason, setup=setup.name, provider=first.name)


def _chosen(setup: SetupSpec, items: list[LiveModel | NotWanted] | tuple[LiveModel | NotWanted, ...]) -> Chosen:
    return Chosen(
        setup=setup,
        models=tuple(each for each in items if isinstance(each, LiveModel)),
        missing=tuple(each for each in items if isinstance(each, NotWanted)),
    )
