"""The commands `stackproof recordings …`; each lives in a module of its own that is imported when it is asked for."""

from __future__ import annotations

from dataclasses import asdict

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import CommandGroup, json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings, run_folder
from stackproof.errors import ExitCode
from stackproof.plaintext import counted


@click.group(
    "recordings",
    cls=CommandGroup,
    elsewhere={
        "apply": "stackproof.cli.recordings_patch:apply",
        "check": "stackproof.cli.recordings_check:check",
        "diff": "stackproof.cli.recordings_diff:diff",
        "explain": "stackproof.cli.recordings_explain:explain",
        "find": "stackproof.cli.recordings_find:find",
        "identity": "stackproof.cli.recordings_identity:identity",
        "import": "stackproof.cli.recordings_import:import_",
        "list": "stackproof.cli.recordings_list:list_",
        "normalize": "stackproof.cli.recordings_normalize:normalize",
        "patch": "stackproof.cli.recordings_patch:patch",
        "prune": "stackproof.cli.recordings_prune:prune",
        "rekey": "stackproof.cli.recordings_rekey:rekey",
        "rename": "stackproof.cli.recordings_rename:rename",
        "show": "stackproof.cli.recordings_show:show",
        "stats": "stackproof.cli.recordings_stats:stats",
    },
)
def recordings() -> None:
    """Look after recordings: read, compare, check, clean, move and import them."""


@recordings.command("promote")
@click.argument("run", shell_complete=completing.run)
@json_option
@click.pass_obj
def promote(around: Surroundings, run: str, as_json: bool) -> int:
    """Put in place what a run recorded and could not, because it was killed.

    RUN is an id or a folder.
    """
    from stackproof.recordings import promote as promotion  # noqa: PLC0415 - it loads the plugin, and pytest

    folder = run_folder(around.project, run)
    promoted = promotion.promote(folder)
    if as_json:
        cells = [asdict(cell) for cell in promoted]
        print_json({"schema": 1, "kind": "recordings-promote", "run": folder.name, "cells": cells})
        return ExitCode.PASS
    for cell in promoted:
        left = f", {cell.left} left of tests that did not pass" if cell.left else ""
        console.told(f"{cell.cell}: {counted(cell.written, 'file')} written, {cell.removed} removed{left}")
    return ExitCode.PASS
