"""Whether the recorder is in a process of a stack, and why not: what its command and its environment tell of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from stackproof.recorder.settings import VARIABLE
from stackproof.stack import proctable

ANYTHING = "`python -I`, `-E`, `-S` and `env -i` keep it out, and it is in no program that is not Python"
EDGE = "or set `recorder: edge` in stack.yaml: that needs no code inside the stack (stackproof docs edge)"
_REPLACED = (
    "PYTHONPATH was replaced on the way, and the recorder came by it: `PYTHONPATH=THEIRS:$PYTHONPATH` keeps both"
)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?(?:-dbg)?")
_WITH_VALUE = frozenset("WX")
_LAST = frozenset("cm")  # what follows is the program's


def has_mark(pid: int, marks: Path) -> bool:
    """Whether the recorder has left its mark in `pid`, and the process is still the program that it left it in."""
    try:
        before = json.loads((marks / f"{pid}.json").read_text()).get("stack")
    except (OSError, ValueError):
        return False  # none, or one that is being written
    now = proctable.stack_start(pid)
    return before is None or now is None or before == now


def why(pid: int, guest: Path) -> str:
    """What probably kept it out of `pid` and what to do, as one sentence each; `ANYTHING` where nothing can be seen.

    guest: the folder that `stackproof exec` has put first on PYTHONPATH.
    """
    program = proctable.program(pid)
    if program is not None and not _PYTHON.fullmatch(Path(program).name):
        return f"{Path(program).name} is not Python, so no recorder can be in it"
    reasons = [_of_option(letter) for letter in options(proctable.arguments(pid))]
    environment = proctable.environment(pid)
    if environment is not None and VARIABLE not in environment:
        reasons.append(
            f"{VARIABLE} did not arrive in it: `env -i`, or a program that starts it with variables of its own, has"
            f" emptied its environment; let {VARIABLE} and PYTHONPATH through"
        )
    elif environment is not None and not reasons:
        reasons += _of_path(environment.get("PYTHONPATH", ""), guest)
    return "\n".join(reasons) or ANYTHING


def options(arguments: Sequence[str]) -> tuple[str, ...]:
    """Those of -I, -E and -S that a Python was started with (also in one word, `-sE`), each once, in order."""
    found: list[str] = []
    words = iter(arguments[1:])
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            break
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(words, None)
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in _LAST:
                return tuple(found)
            if letter in _WITH_VALUE:
                if place == len(word):
                    next(words, None)
                break
            if letter in "IES" and letter not in found:
                found.append(letter)
    return tuple(found)


def _of_option(letter: str) -> str:
    what = "runs no sitecustomize" if letter == "S" else "looks at no variable that begins with PYTHON"
    return f"`python -{letter}` {what}, and that is how the recorder gets in: drop -{letter} from the command"


def _of_path(path: str, guest: Path) -> list[str]:
    entries = path.split(os.pathsep) if path else []
    if str(guest) not in entries:
        return [_REPLACED]
    before = [entry for entry in entries[: entries.index(str(guest))] if Path(entry, "sitecustomize.py").is_file()]
    if not before:
        return []
    return [f"{before[0]}/sitecustomize.py comes first on PYTHONPATH, and does not hand on to the one behind it"]
