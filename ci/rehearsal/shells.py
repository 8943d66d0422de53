"""How a script is started, by the words of `shell`."""

from __future__ import annotations

import shlex
from pathlib import Path

from ci.rehearsal.problems import Place, WorkflowError

_SHELLS = {
    # Nobody has asked for a shell: bash, but without pipefail.
    "": "bash -e {0}",
    "bash": "bash --noprofile --norc -eo pipefail {0}",
    "sh": "sh -e {0}",
    "python": "python {0}",
}


def command(shell: str, script: Path, place: Place) -> list[str]:
    """The program and its arguments. Raises WorkflowError."""
    template = _SHELLS.get(shell, shell)
    if "{0}" not in template:
        raise WorkflowError(place, f"the shell {shell!r} is unknown; there are bash, sh, python, or words with {{0}}")
    return [word.replace("{0}", str(script)) for word in shlex.split(template)]
