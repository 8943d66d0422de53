"""Skips what the stack does not have: its stack.yaml says so, in data, and each such test tells the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

VARIABLE = "STACKPROOF_LACKS"


class Lacking:
    """`lacks`: file, folder or node id -> what the tests there ask for."""

    def __init__(self, lacks: Mapping[str, str], stack: str) -> None:
        self._lacks = lacks
        self._stack = stack

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Lacking | None:
        """From the variables of a run; None where the stack has everything."""
        text = environ.get(VARIABLE)
        if not text:
            return None
        # The same words however the stack runs: a skip that is expected is expected with its reason.
        return cls(json.loads(text), environ.get("STACKPROOF_STACK", "").partition(":")[2] or "the stack")

    def reason(self, nodeid: str) -> str | None:
        """Why a test cannot pass; None when it has to."""
        for place, what in self._lacks.items():
            if nodeid == place or nodeid.startswith((place.rstrip("/") + "/", f"{place}::", f"{place}[")):
                return f"{self._stack} lacks {what}"
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before any fixture is set up for it."""
        if (reason := self.reason(item.nodeid)) is not None:
            raise pytest.skip.Exception(reason, _use_item_location=True)
