"""How a page of `--help` is set: as wide as the terminal up to 100 columns, words whole, ranges in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

WIDEST = 100

_RANGE = re.compile(r"\s*\[(?:(?P<least>\d+)<=)?x(?:>=(?P<low>\d+)|<=(?P<most>\d+))\]$")
_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class HelpFormatter(click.HelpFormatter):
    """click's, which would break `--max-age` and `slow-first-byte` where they have a hyphen."""

    def write_text(self, text: str) -> None:
        """A paragraph, indented."""
        super().write_text(_whole(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Options or commands, each with what it does."""
        told = [(first, _whole(in_words(second))) for first, second in rows]
        super().write_dl(told, col_max=col_max, col_spacing=col_spacing)

    def getvalue(self) -> str:
        """The page."""
        return super().getvalue().replace(_HYPHEN, "-")


class HelpContext(click.Context):
    """The context of a command of ours: its pages of help are set here."""

    formatter_class = HelpFormatter


def in_words(text: str) -> str:
    """What an option does, with the range that click puts behind it as a sentence: `At least 1.`"""
    found = _RANGE.search(text)
    if found is None:
        return text
    least, most = found["least"] or found["low"], found["most"]
    said = f" From {least} to {most}." if most else ("" if least == "0" else f" At least {least}.")
    does, default, value = text[: found.start()].partition(" Default:")
    return f"{does}{said}{default}{value}"


def _whole(text: str) -> str:
    return re.sub(r"(?<=\w)-(?=\w)", _HYPHEN, text)
