"""Faults that are injected into what a stack hears from its providers, and claims about what must follow.

A test asks for a fault with a mark, `@pytest.mark.fault("cut:3")`, and tells the fixture `claim` what it observed; a
program without pytest gives faults to `stackproof.recorder.recorded`. docs/faults.md has the grammar, docs/claims.md
the file of claims.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackproof.faults.claim import ClaimUnderTest
    from stackproof.faults.claim_file import Claim
    from stackproof.faults.grammar import parse
    from stackproof.recorder.inject.fault import Act, Fault

__all__ = ["Act", "Claim", "ClaimUnderTest", "Fault", "parse"]

# Loaded when they are asked for: nobody is to wait for what he does not use.
_PLACES = {
    "Act": "stackproof.recorder.inject.fault",
    "Claim": "stackproof.faults.claim_file",
    "ClaimUnderTest": "stackproof.faults.claim",
    "Fault": "stackproof.recorder.inject.fault",
    "parse": "stackproof.faults.grammar",
}

if not TYPE_CHECKING:  # or every name would be one of this module's

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)
