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
    """Real calls are not to be made. reason: names everything that is needed, and what of it is missing."""

    reason: str


def live_models(
    environ: Mapping[str, str], known: Catalog, *, provider: str = USUAL
) -> tuple[LiveModel | NotWanted, ...]:
    """One for each model that STACKPROOF_LIVE_MODEL names (`provider/model`, several by comma); at least one.

    Keys alone call nothing: people have keys in their environment for other reasons. provider: whom the reason is about
    where the variable is not set. UsageError when it names no provider that is known,
    or is written in another way: a schedule that means to call a model must not skip for a slip of the pen.
    """
    words = [word for word in (part.strip() for part in environ.get(VARIABLE, "").split(",")) if word]
    if not words:
        return (_missing(_setup_of(provider, known), environ),)
    return tuple(_one(word, environ, known) for word in dict.fromkeys(words))


def _one(word: str, environ: Mapping[str, str], known: Catalog) -> LiveModel | NotWanted:
    provider, slash, model = word.partition("/")
    if not (provider and slash and model):
        raise UsageError(
            f"{VARIABLE} says {word!r}", hint="write provider/model, as openai/gpt-5-mini; several by comma"
        )
    setup, spec = _setup_of(provider, known)
    variables = {**setup.env, **{name: environ[name] for name in _names(setup, spec) if environ.get(name)}}
    if any(not environ.get(name) for name in needed(setup, spec)):
        return _missing((setup, spec), environ)
    url = variables.get(spec.variable or "", "") or next(iter(spec.prefixes), "")
    return LiveModel(provider=provider, model=model, setup=setup.name, url=url, variables=variables)


def needed(setup: SetupSpec, provider: ProviderSpec) -> tuple[str, ...]:
    """What the caller has to give: keys, or the URL of a provider that takes none, and what else it needs.

    A secret that has a value in the setup (`EMPTY`) is none that is asked for.
    """
    keys = [name for name in setup.secrets if name not in setup.env]
    own = keys or ([provider.variable] if provider.variable else [])
    return tuple(dict.fromkeys((*own, *setup.needs)))


def _setup_of(provider: str, known: Catalog) -> tuple[SetupSpec, ProviderSpec]:
    """The setup that is named like the provider, or else the first that calls it."""
    setups = sorted(known.setups.values(), key=lambda setup: setup.name != provider)
    for setup in setups:
        for spec in setup.providers:
            if spec.name == provider:
                return setup, spec
    names = sorted({spec.name for setup in setups for spec in setup.providers})
    raise UsageError(
        f"{VARIABLE} names the provider {provider!r}, which is in no setup{did_you_mean(provider, names)}",
        hint=f"known providers: {', '.join(names)}",
    )


def _names(setup: SetupSpec, provider: ProviderSpec) -> tuple[str, ...]:
    return (*setup.all_secrets, *setup.needs, *setup.env, *([provider.variable] if provider.variable else []))


def _missing(found: tuple[SetupSpec, ProviderSpec], environ: Mapping[str, str]) -> NotWanted:
    names = (*needed(*found), VARIABLE)
    lacking = [name for name in names if not environ.get(name)]
    *others, last = names
    return NotWanted(reason=f"a real call needs {', '.join(others)} and {last}; missing: {', '.join(lacking)}")
