"""Tests that make real calls: which models they get, and why they get none."""

from __future__ import annotations

import os

import pytest

from stackproof import catalog
from stackproof.errors import StackproofError
from stackproof.live.opt_in import LiveModel, NotWanted, live_models


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give the test every model that is asked for; a skip with the reason in the place of one that is not to be called.

    pytest.UsageError for what is written wrong.
    """
    try:
        found = live_models(os.environ, catalog.load(metafunc.config.rootpath))
    except StackproofError as error:
        raise pytest.UsageError(f"{error.message}\n  {error.hint}") from None
    metafunc.parametrize("live_model", [_parameter(each) for each in found], indirect=True)


def _parameter(each: LiveModel | NotWanted) -> object:
    if isinstance(each, LiveModel):
        return pytest.param(each, id=each.title)
    return pytest.param(None, id="live", marks=pytest.mark.skip(reason=each.reason))
