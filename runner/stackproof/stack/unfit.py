"""Why an image cannot run a stack with the recorder in it, out of what was written in the container before it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stackproof.errors import StackStartError
from stackproof.stack.readiness import Watched

_OURS = "stackproof: "
_NOT_STARTED = " cannot be started: "
_NO_PROGRAM = "`command` in {source} is run inside the image: have it there on PATH, or in the environment of {python}"
# The engine's own first process, tini for Docker and catatonit for Podman, which could not become the Python.
_NO_PYTHON = re.compile(r"\[FATAL tini .*\] exec .* failed: No such file|failed to exec pid1: No such file")


@contextmanager
def told(container: Watched, *, image: str, python: str, source: Path) -> Iterator[None]:
    """Turn a StackStartError into one that says it in a sentence, where the container's log tells what it was.

    python: what stack.yaml, `source`, names as the image's Python.
    """
    try:
        yield
    except StackStartError as error:
        needs = f"the image needs Python 3.11 or newer; `python` in the `docker` section of {source} is its path"
        for line in reversed(container.tail()):
            if line.startswith(_OURS):
                hint = _NO_PROGRAM.format(source=source, python=python) if _NOT_STARTED in line else needs
                raise StackStartError(f"{container.name}: {line.removeprefix(_OURS)}", hint=hint) from error
            if _NO_PYTHON.search(line):
                what = f"{container.name} cannot run in image {image}: there is no {python} in it"
                raise StackStartError(what, hint=needs) from error
        raise
