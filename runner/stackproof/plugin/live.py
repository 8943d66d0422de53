"""Tests that make real calls: which models they get, and why they get none."""

from __future__ import annotations

import os

import pytest

from stackproof import catalog, secret_values
from stackproof.errors import StackproofError
from stackproof.live import fork, of_session
from stackproof.live.opt_in import LiveModel, NotWanted, live_models
from stackproof.plugin import hiding

_FOUND = pytest.StashKey[tuple[LiveModel | NotWanted, ...]]()


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give the test every model where there are several; of one its name says nothing, so that recordings belong to it.

    pytest.UsageError for what is written wrong.
    """
    found = models(metafunc.config)
    if len(found) > 1:
        metafunc.parametrize("live_model", [_parameter(each) for each in found], indirect=True)


def mark(item: pytest.Item) -> None:
    """Skip the test, before any of its fixtures is set up, where its one model is not to be called.

    Where some are, nothing that providers repeat of their keys is shown: no run around may be there to see to it.
    """
    if any(isinstance(each, LiveModel) for each in models(item.config)):
        hiding.begin(item.config, secret_values.known((), os.environ))
    if "live_model" not in getattr(getattr(item, "callspec", None), "params", {}):
        (found,) = models(item.config)
        if isinstance(found, NotWanted):
            item.add_marker(pytest.mark.skip(reason=found.reason))


def models(config: pytest.Config) -> tuple[LiveModel | NotWanted, ...]:
    """The models of this session, at least one. pytest.UsageError for what is written wrong."""
    if _FOUND not in config.stash:
        try:
            known = catalog.load(config.rootpath)
            config.stash[_FOUND] = of_session.models(
                os.environ,
                known,
                lambda provider: live_models(
                    os.environ,
                    known,
                    provider=provider,
                    setup=os.environ.get("STACKPROOF_SETUP"),
                    because=fork.told(os.environ),
                ),
            )
        except StackproofError as error:
            raise pytest.UsageError(f"{error.message}\n  {error.hint}") from None
    return config.stash[_FOUND]


def _parameter(each: LiveModel | NotWanted) -> object:
    if isinstance(each, LiveModel):
        return pytest.param(each, id=each.title)
    return pytest.param(None, id=each.title or "live", marks=pytest.mark.skip(reason=each.reason))
