"""Actions of others, each played by a small stand-in with the part of its behaviour that matters here."""

from ci.rehearsal.actions.call import Call, FailedError, Played
from ci.rehearsal.actions.known import KNOWN

__all__ = ["KNOWN", "Call", "FailedError", "Played"]
