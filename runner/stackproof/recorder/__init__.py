"""Records and replays calls to model providers inside somebody else's process.

This package is a guest: it uses the standard library only and imports nothing of the orchestrator, so that it can be
put, alone, on the path of a foreign environment. All imports inside it are relative for that reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .block import MissedError, Recorded, RecordingInCIError, recorded
    from .guard import NetworkBlockedError
    from .install import suspended
    from .mode import Mode
    from .patching import InstallError

__all__ = [
    "InstallError",
    "MissedError",
    "Mode",
    "NetworkBlockedError",
    "Recorded",
    "RecordingInCIError",
    "recorded",
    "suspended",
]

# Loaded when they are asked for: nobody is to wait for what he does not use.
_PLACES = {
    "InstallError": "patching",
    "MissedError": "block",
    "Mode": "mode",
    "NetworkBlockedError": "guard",
    "Recorded": "block",
    "RecordingInCIError": "block",
    "recorded": "block",
    "suspended": "install",
}

if not TYPE_CHECKING:  # or every name would be one of this module's

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f".{_PLACES[name]}", __name__), name)
