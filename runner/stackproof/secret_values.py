"""Which values nobody may read: those of a setup's secrets, and of variables that are called like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from stackproof.recorder import redact
from stackproof.recorder.mode import Mode

if TYPE_CHECKING:
    from stackproof.plan import Cell

_SECRET_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE)


def is_called_like_one(name: str) -> bool:
    """Whether a variable's name says that its value is a secret, as `OPENAI_API_KEY` and `GITHUB_TOKEN` do."""
    return _SECRET_NAME.search(name) is not None


def known(names: Iterable[str], environ: Mapping[str, str], given: Iterable[str] = ()) -> dict[str, str]:
    """Variable → value, of the named ones and of all that are called like a secret; none shorter than 8 characters.

    given: pairs `NAME=VALUE` that win over `environ`, as `--env` has them.
    """
    values = {**environ, **dict(pair.split("=", 1) for pair in given if "=" in pair)}
    return redact.known_values((*names, *filter(is_called_like_one, values)), values)


def of_cells(cells: Iterable[Cell], environ: Mapping[str, str], given: Iterable[str] = ()) -> dict[str, str]:
    """Those that these cells may send to anybody."""
    return known((name for cell in cells for name in cell.setup.all_secrets), environ, given)


def may_be_told(mode: Mode) -> bool:
    """Whether a provider may repeat one in its answer: where no call goes out, none of these values is sent."""
    return mode is not Mode.REPLAY
