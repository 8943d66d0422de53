"""Which outputs a step can have, by what it says: a name that stands nowhere in it is a typo of somebody's."""

from __future__ import annotations

import re

from ci.rehearsal import actions
from ci.rehearsal.model import Step


def may_write(step: Step, output: str) -> bool:
    """Whether a step may have an output of a name, in lower case. Not every run of it needs to write it."""
    if step.run is not None:
        # A program of the repository may write what the script does not name; a script that writes itself names it.
        word = rf"(?i){re.escape(output)}\s*(=|<<)"
        return "GITHUB_OUTPUT" not in step.run or re.search(word, step.run) is not None
    played = actions.KNOWN.get((step.uses or "").partition("@")[0])
    return played is None or output in played.outputs
