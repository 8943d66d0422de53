"""The image of a task: that of a stack's tests in a container, and what Stackproof itself is made of.

Stackproof's own files are not in it: they come with the archive of each run, so that a change of theirs builds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stackproof.catalog.records import StackSpec
from stackproof.errors import UsageError
from stackproof.stack import image, place
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ImageFacts

_NAME = re.compile(rb"^([A-Za-z0-9][A-Za-z0-9._-]*)", re.MULTILINE)
_OURSELVES = "stackproof"


def prepare(
    engine: Engine,
    stack: StackSpec,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> tuple[str, ImageFacts]:
    """Name and facts of the image, built first where the engine has none of these contents.

    Raises what `image.prepare` raises, and UsageError for a stack whose container is somebody else's image.
    """
    if stack.docker is not None and stack.docker.image is not None:
        raise UsageError(
            f"stack {stack.name!r} is somebody else's image, and a task of a swarm runs the tests beside it",
            hint=f"run it here: --stack-config docker:{stack.name} without --engine swarm",
        )
    return image.prepare(
        engine,
        stack,
        base=place.base_of(stack, environment),
        with_tests=True,
        more=lacking,
        environment=environment,
        say=say,
        check=check,
    )


def lacking(requirements: bytes) -> bytes:
    """Lines for pip: what Stackproof needs and `requirements` does not name, in the versions of here."""
    named = {canonicalize_name(name.decode()) for name in _NAME.findall(requirements)}
    return "".join(
        f"{name}=={version}\n" for name, version in sorted(_needed().items()) if canonicalize_name(name) not in named
    ).encode()


def _needed() -> dict[str, str]:
    """Packages that Stackproof needs, and those that these need, with the versions that it runs with here."""
    found: dict[str, str] = {}
    todo = list(_asked(_OURSELVES))
    while todo:
        name = canonicalize_name(todo.pop())
        if name in found:
            continue
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # of another platform
        todo += _asked(name)
    return found


def _asked(name: str) -> Iterator[str]:
    for text in metadata.requires(name) or ():
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield wanted.name
