"""The command of a stack, with what only a run knows filled in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from stackproof.catalog.templates import filled
from stackproof.recorder.settings import VARIABLE, Settings


def completed(
    command: Sequence[str], *, python: str, host: str, port: int, folder: str, variables: Mapping[str, str]
) -> list[str]:
    """`command` with its templates filled in, those of stack.yaml's `env` among them.

    folder: the stack's, where the command runs. variables: those that the stack gets.
    """
    values = {"python": python, "port": str(port), "host": host, "folder": folder}
    if settings := variables.get(VARIABLE):
        given = Settings.from_json(settings)
        values |= {"project": given.project, "run_dir": given.run_dir}
    return [filled(part, values) for part in command]


def beside(python: Path, command: Sequence[str]) -> list[str]:
    """`command` as an environment that is activated would find it: a program that was installed with `python` first.

    Whoever calls `venv/bin/stackproof` by its path has not activated it.
    """
    program, *rest = command
    installed = python.parent / program
    is_environment = (python.parent.parent / "pyvenv.cfg").exists()
    if os.sep in program or not is_environment or not os.access(installed, os.X_OK):
        return list(command)
    return [str(installed), *rest]
