"""What an option of `stackproof run` is: its value, its group, and where it may come from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What an option's value is."""

    TEXT = "text"
    CHOICE = "choice"
    WHOLE = "whole number"
    SECONDS = "seconds"
    FLAG = "flag"
    TEXTS = "texts"


class Group(StrEnum):
    """Under which heading `--help` and the reference list an option."""

    WHAT = "What to run"
    SHARDS = "Shards"
    CALLS = "Provider calls and recordings"
    MODELS = "Models"
    RUN = "How to run it"
    SHOW = "What to show"


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One option.

    name: the field of RunOptions and the key in `[tool.stackproof]`. flags: as on the command line. anywhere: it may
    also come from a variable or the file; options that shape a single run come from the command line only. in_file:
    False where a file that everybody shares must not decide. bare: its value where none is given.
    """

    name: str
    flags: tuple[str, ...]
    kind: Kind
    group: Group
    help: str
    default: str | int | float | bool | tuple[str, ...] | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    anywhere: bool = True
    in_file: bool = True
    bare: str | None = None

    @property
    def flag(self) -> str:
        """The long spelling, as messages and reproduction lines use it."""
        return self.flags[-1]

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it, or None."""
        return "STACKPROOF_" + self.flag[2:].replace("-", "_").upper() if self.anywhere else None

    @property
    def key(self) -> str | None:
        """The key in `[tool.stackproof]` that sets it, or None."""
        return self.name if self.anywhere and self.in_file else None
