"""Whether real calls are wanted, and of which models: two variables have to say so. Does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackproof.catalog.records import Catalog, ProviderSpec, SetupSpec
from stackproof.errors import UsageError
from stackproof.suggest import did_you_mean

VARIABLE = "STACKPROOF_LIVE_MODEL"
# Whom a message is about where nobody has named a model yet.
USUAL = "openai"


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveModel:
    """A model that may be called for real. setup: whose providers it is among. url: the base URL of its provider.

    variables: what the provider's client reads, by name, as the environment and the setup have it. It may hold keys.
    """

    provider: str
    model: str
    setup: str
    url: str
    variables: Mapping[str, str]

    @property
    def title(self) -> str:
        """`provider/model`, as it is asked for."""
        return f"{self.provider}/{self.model}"

    def __repr__(self) -> str:
        # Test reports show the values of fixtures, and `variables` holds keys.
        return f"LiveModel({self.title!r})"


@dataclass(frozen=True, kw_only=True, slots=True)
class NotWanted:
    """Real calls are not to be made. reason: names everything that is needed, and what of it is missing.

    title: the model, as it was asked for; None where none was. setup: that its variables are of.
    """

    reason: str
    setup: str
    provider: str
    title: str | None = None


def live_models(
    environ: Mapping[str, str],
    known: Catalog,
    *,
    provider: str = USUAL,
    setup: str | None = None,
    served: bool = False,
    because: str | None = None,
) -> tuple[LiveModel | NotWanted, ...]:
    """One for each model that STACKPROOF_LIVE_MODEL names (`provider/model`, several by comma); at least one.

    Keys alone call nothing: people have keys in their environment for other reasons. provider: whom the reason is about
    where the variable is not set. setup: is taken where it calls the provider. served: a service that this run starts
    is in the place of every provider, which counts as their keys and URLs. because: why there may be no secrets here.
    UsageError when the variable names no provider that is known, or is written in another way: a schedule that means to
    call a model must not skip for a slip of the pen.
    """
    found = named(environ)
    if not found:
        place = _setup_of(provider, known, setup)
        return (_missing(place, environ, served=served, because=because),)
    return tuple(_one(each, environ, _setup_of(each[0], known, setup), served, because) for each in found)


def named(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The pairs of provider and model that STACKPROOF_LIVE_MODEL names, each once; UsageError for what is no pair."""
    words = [word for word in (part.strip() for part in environ.get(VARIABLE, "").split(",")) if word]
    return tuple(_pair(word) for word in dict.fromkeys(words))


def needed(setup: SetupSpec, provider: ProviderSpec) -> tuple[str, ...]:
    """What the caller has to give: keys, or the URL of a provider that takes none, and what else it needs.

    A secret that has a value in the setup (`EMPTY`) is none that is asked for.
    """
    keys = [name for name in setup.secrets if name not in setup.env]
    own = keys or ([provider.variable] if provider.variable else [])
    return tuple(dict.fromkeys((*own, *setup.needs)))


def not_wanted(
    setup: SetupSpec,
    provider: ProviderSpec,
    environ: Mapping[str, str],
    *,
    served: bool = False,
    because: str | None = None,
) -> NotWanted:
    """What is said of a setup of which nothing may be called: which variables that needs, and which are missing."""
    return _missing((setup, provider), environ, served=served, because=because)


def _pair(word: str) -> tuple[str, str]:
    provider, slash, model = word.partition("/")
    if not (provider and slash and model):
        raise UsageError(
            f"{VARIABLE}: {word!r} is not written provider/model",
            hint="for example openai/gpt-5-mini; several by comma",
        )
    return provider, model


def _one(
    pair: tuple[str, str],
    environ: Mapping[str, str],
    found: tuple[SetupSpec, ProviderSpec],
    served: bool,
    because: str | None,
) -> LiveModel | NotWanted:
    (provider, model), (setup, spec) = pair, found
    variables = {**setup.env, **{name: environ[name] for name in _names(setup, spec) if environ.get(name)}}
    if not served and any(not environ.get(name) for name in needed(setup, spec)):
        return _missing(found, environ, title=f"{provider}/{model}", because=because)
    url = variables.get(spec.variable or "", "") or next(iter(spec.prefixes), "")
    return LiveModel(provider=provider, model=model, setup=setup.name, url=url, variables=variables)


def _setup_of(provider: str, known: Catalog, preferred: str | None) -> tuple[SetupSpec, ProviderSpec]:
    """The setup that is preferred, else the one that is named like the provider, else the first that calls it."""
    setups = sorted(known.setups.values(), key=lambda setup: (setup.name != preferred, setup.name != provider))
    for setup in setups:
        for spec in setup.providers:
            if spec.name == provider:
                return setup, spec
    names = sorted({spec.name for setup in setups for spec in setup.providers})
    raise UsageError(
        f"{VARIABLE}: provider {provider!r} is in no setup{did_you_mean(provider, names)}",
        hint=f"known providers: {', '.join(names)}",
    )


def _names(setup: SetupSpec, provider: ProviderSpec) -> tuple[str, ...]:
    return (*setup.all_secrets, *setup.needs, *setup.env, *([provider.variable] if provider.variable else []))


def _missing(
    found: tuple[SetupSpec, ProviderSpec],
    environ: Mapping[str, str],
    *,
    title: str | None = None,
    served: bool = False,
    because: str | None = None,
) -> NotWanted:
    setup, provider = found
    names = (*needed(setup, provider), VARIABLE)
    # Blanks and commas are set and name nothing.
    given = {name for name in names if environ.get(name) and (name != VARIABLE or named(environ))}
    lacking = [name for name in names if name not in given and not (served and name != VARIABLE)]
    *others, last = names
    said = f"a real call needs {', '.join(others)} and {last}; missing: {', '.join(lacking)}"
    # Only of secrets a CI system says why they are not there.
    why = f" ({because})" if because and not set(setup.all_secrets).isdisjoint(lacking) else ""
    return NotWanted(reason=said + why, setup=setup.name, provider=provider.name, title=title)
