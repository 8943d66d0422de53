"""Whether what a page shows of a message is what the code says, by pairs of words that stand side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

from tests.e2e.docs.blocks import PROJECT
from tests.unit.docs.test_troubleshooting import said

_VALUE = "…"
_WORD = re.compile(rf"[A-Za-z]+(?:'[a-z]+)?|{_VALUE}")
_FOLDERS = ("runner/stackproof", "stacks", "ci")
# Values, such as a model's words or a test's name, are no words of ours.
_ENOUGH = 0.7
_BREAK = re.compile(r"[,;:.]\s|\s{2,}")
_MARKS = "`'\"(),;:.?!✗✓●–~"


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Words that stand side by side in a line, without what else is in it."""
    for line in text.splitlines():
        for part in _BREAK.split(line):
            words = [word.strip(_MARKS) for word in part.split()]
            for one, other in pairwise(words):
                if _WORD.fullmatch(one) and _WORD.fullmatch(other):
                    yield one, other


@cache
def known() -> frozenset[tuple[str, str]]:
    """Those of all texts in the code."""
    return frozenset(pair for folder in _FOLDERS for text in said(PROJECT / folder) for pair in pairs(text))


def strange(text: str, of: Iterable[tuple[str, str]] | None = None) -> list[str]:
    """What of a text nobody says, where that is much of it; where the text has no words it is all of it."""
    texts = known() if of is None else frozenset(of)
    found = list(pairs(text))
    unknown = [f"{one} {other}" for one, other in found if not {(one, other), (_VALUE, other), (one, _VALUE)} & texts]
    if not found:
        return ["no words"]
    return unknown if len(unknown) > max(1, (1 - _ENOUGH) * len(found)) else []
