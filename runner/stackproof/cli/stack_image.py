"""`stackproof stack image NAME`: the image that runs shards of this project, to be pushed to a registry."""

from __future__ import annotations

import contextlib

import click

from stackproof import console
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode
from stackproof.plaintext import counted


@click.command("image")
@click.argument("name", shell_complete=completing.stack)
@json_option
@click.pass_obj
def image(around: Surroundings, name: str, as_json: bool) -> int:
    """Build the image that runs shards of this project elsewhere.

    In it are stack NAME, the packages of its tests, Stackproof, and the project with its recordings: the files that Git
    keeps, or all of them where it keeps none. It runs as a user without rights. `stackproof plan --format kubernetes`
    takes it by the digest that `docker push` prints.
    """
    from stackproof import catalog  # noqa: PLC0415
    from stackproof.run.interrupts import Interrupts  # noqa: PLC0415 - engines and archives, which `stack ps` does without
    from stackproof.shards import pod_image  # noqa: PLC0415
    from stackproof.stack import engine  # noqa: PLC0415

    stack = catalog.load(around.project).stack(name)
    with Interrupts() as interrupts, contextlib.closing(engine.connect(around.environ)) as found:
        made = pod_image.prepare(
            found,
            stack,
            around.project.absolute(),
            environment=around.environ,
            say=(lambda _: None) if as_json else console.out,
            check=interrupts.check,
        )
    source = made.source
    if as_json:
        print_json(
            {"schema": 1, "image": made.name, "files": made.files, "commit": source.commit, "dirty": source.dirty}
        )
        return ExitCode.PASS
    of = f"commit {source.commit[:7]}" if source.commit else "no commit"
    console.out(
        f"{made.name}  {counted(made.files, 'file')} of {of}{', with changes that are not committed' * source.dirty}"
    )
    console.out(f"  docker tag {made.name} REGISTRY/NAME && docker push REGISTRY/NAME")
    console.out(
        "  the digest that this prints is for stackproof plan --format kubernetes --image REGISTRY/NAME@sha256:…"
    )
    return ExitCode.PASS
