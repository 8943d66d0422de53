"""`stackproof edge`: the provider edge by itself, in the foreground, until somebody ends it."""

from __future__ import annotations

import click

from stackproof import console
from stackproof.cli.cli_words import given, run_parameters
from stackproof.cli.surroundings import Surroundings

_TAKEN = (
    "setup", "suite", "inference_mode", "recording_dir", "provider_service", "allow_record_in_ci", "env",
    "start_timeout", "record_errors", "max_requests", "max_tokens", "max_seconds", "pace", "chunk_fuzz", "debug",
)  # fmt: skip
"""What an edge by itself has of the options of a run."""


@click.command(
    "edge",
    params=[
        click.Option(
            ["--port"],
            type=click.IntRange(1, 65535),
            metavar="PORT",
            help="Where the edge listens. Default: a port that is free.",
        ),
        *(option for option in run_parameters() if option.name in _TAKEN),
    ],
)
@click.pass_context
def edge(ctx: click.Context, /, port: int | None, **_: object) -> int:
    """Stand in for the providers of a setup, for a stack in any language.

    Prints the URLs to give to the stack, and serves until Ctrl-C. Records and replays the same files as a run.
    """
    from stackproof.edge import by_hand  # noqa: PLC0415

    around: Surroundings = ctx.obj
    asked = {key: value for key, value in given(ctx).items() if key != "pytest_args"}
    return int(by_hand.serve(asked, project=around.project, caller=around.environ, port=port, out=console.out))
