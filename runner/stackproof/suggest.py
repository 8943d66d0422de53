"""Finds what somebody probably meant when a name is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from stackproof.errors import UsageError


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is closest to `word`, or None when none is close. `cutoff`: 0 takes all, 1 only equals."""
    by_folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` to put behind a message, or nothing when no known name is close."""
    name = nearest(word, known)
    return "" if name is None else f", did you mean {name!r}?"


def unknown(kind: str, word: str, known: Iterable[str], *, where: str | None = None) -> UsageError:
    """The error for a name that does not exist: nearest name in the sentence, all names in the hint.

    `where` says who asked for it (`--suite`, `STACKPROOF_SETUP`).
    """
    names = sorted(known)
    asked = f" ({where})" if where else ""
    listed = ", ".join(names) if names else "there are none"
    return UsageError(
        f"unknown {kind} {word!r}{asked}{did_you_mean(word, names)}",
        hint=f"known {kind}s: {listed}",
    )
