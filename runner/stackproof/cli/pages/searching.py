"""Finds words in the pages, and the sentence of an error that was copied from a terminal.

Pages write an error with … for what differs from case to case: `… is not ready: … after … s`. What was copied has
values in these places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stackproof.cli.pages.contents import Page

_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_MARK = re.compile(r"^\s*✗\s*")
# So many letters have to be the same before a sentence counts as one that a page writes with gaps.
_LEAST = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """line: counted from 1, in the page's file. text: that line. at: where in it the words begin, 0 where unknown."""

    page: str
    line: int
    text: str
    at: int = 0


def search(pages: Iterable[Page], asked: str) -> list[Hit]:
    """Every place that has the words one behind the other, or is a form of the sentence; else lines with all of them.

    Upper and lower case are the same, and a line may end between two words.
    """
    words = _MARK.sub("", asked).split()
    texts = [(page.name, page.text()) for page in pages]
    whole = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    found = [hit for name, text in texts for hit in _in_one(name, text, whole, " ".join(words).casefold())]
    return found or [hit for name, text in texts for hit in _with_all(name, text, [word.casefold() for word in words])]


def _in_one(name: str, text: str, whole: re.Pattern[str], sentence: str) -> Iterator[Hit]:
    lines = text.splitlines()
    starts: dict[int, int] = {}
    for found in whole.finditer(text):
        line = text.count("\n", 0, found.start())
        starts.setdefault(line, found.start() - (text.rfind("\n", 0, found.start()) + 1))
    if " " in sentence:
        for number, line_text in enumerate(lines):
            if "…" in line_text and (span := _form_of(sentence, line_text)) is not None:
                starts.setdefault(number, span)
    for number, at in sorted(starts.items()):
        yield Hit(page=name, line=number + 1, text=lines[number], at=at)


def _form_of(sentence: str, line: str) -> int | None:
    """Where in a line something in code begins that the sentence has the words of, in their order."""
    for found in _SPAN.finditer(line):
        parts = [part.strip() for part in found[2].casefold().split("…")]
        if sum(map(str.isalpha, "".join(parts))) >= _LEAST and _in_order(parts, sentence):
            return found.start()
    return None


def _in_order(parts: Iterable[str], sentence: str) -> bool:
    at = 0
    for part in parts:
        here = sentence.find(part, at)
        if here < 0:
            return False
        at = here + len(part)
    return True


def _with_all(name: str, text: str, words: Iterable[str]) -> Iterator[Hit]:
    wanted = list(words)
    for number, line in enumerate(text.splitlines(), start=1):
        if all(word in line.casefold() for word in wanted):
            yield Hit(page=name, line=number, text=line)
