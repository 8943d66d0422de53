"""Two texts side by side for a reader: lines with `-` and `+`, or words marked inside a long line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from stackproof.recordings.wording import plain, shortened

LINES = 40
_WIDTH = 400  # characters of a line that are shown
_WORDY = 40  # a line shorter than that is read faster whole
_AROUND = 6  # words kept before and after a change
_MOST_LINES = 1_000  # past that, and past so many characters of a line, finding what fits would take seconds
_MOST = 10_000


def text_diff(before: str, after: str, *, limit: int = LINES) -> list[str]:
    """Lines that begin with `-`, `+` or a space, at most `limit`, then one that says how many were left out.

    A line that has become another similar one is one line with `[-old-]` and `{+new+}` in it.
    """
    old, new = plain(before).split("\n"), plain(after).split("\n")
    same = next(
        (n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    start = max(same - 1, 0)
    old, new = old[start:], new[start:]
    if max(len(old), len(new)) > _MOST_LINES:
        # What comes first differs; where the texts meet again is not looked for.
        found = [f"{mark} {shortened(line, _WIDTH)}" for mark, side in (("-", old), ("+", new)) for line in side[1:6]]
        return [*found, f"  … {len(old):,} lines have become {len(new):,}"]
    found = list(_lines(old, new))
    left = len(found) - limit
    return found if left <= 0 else [*found[:limit], f"  … {left} more lines"]


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(1):
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (f"  {shortened(line, _WIDTH)}" for line in old[i:j])
            elif tag == "replace" and j - i == m - k and (pairs := _in_words(old[i:j], new[k:m])) is not None:
                yield from pairs
            else:
                yield from (f"- {shortened(line, _WIDTH)}" for line in old[i:j])
                yield from (f"+ {shortened(line, _WIDTH)}" for line in new[k:m])


def _in_words(old: Sequence[str], new: Sequence[str]) -> list[str] | None:
    marked = [_words(left, right) for left, right in zip(old, new, strict=True)]
    return None if None in marked else [f"  {line}" for line in marked]


def _words(old: str, new: str) -> str | None:
    """One line with the words that changed marked; None where two whole lines read better."""
    if max(len(old), len(new)) > _MOST or min(len(old), len(new)) < _WORDY:
        return None
    left, right = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (old, new))
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) > 500)
    if matcher.ratio() < 0.6:
        return None
    pieces: list[str] = []
    codes = matcher.get_opcodes()
    for number, (tag, i, j, k, m) in enumerate(codes):
        if tag == "equal":
            pieces.append(_context(left[i:j], is_first=number == 0, is_last=number == len(codes) - 1))
            continue
        if i < j:
            pieces.append(f"[-{''.join(left[i:j])}-]")
        if k < m:
            pieces.append(f"{{+{''.join(right[k:m])}+}}")
    return "".join(pieces)


def _context(words: list[str], *, is_first: bool, is_last: bool) -> str:
    head = [] if is_first else words[: _AROUND * 2]
    tail = [] if is_last else words[-_AROUND * 2 :]
    if len(head) + len(tail) >= len(words):
        return "".join(words)
    cut = "".join(head).rstrip() + " … " + "".join(tail).lstrip()
    return cut.lstrip() if is_first else cut.rstrip() if is_last else cut
