"""What builds of ours leave on an engine: images, and layers that a next build may use again, all of them with a name.

A build in stages leaves the last layer of each stage but the last, one that fails or is broken off the layers of the
steps that it did. The engine would list them as `<none>`, where nobody knows whose they are.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

from stackproof.errors import DockerError
from stackproof.stack import labels
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import Owned

KEPT = "layers-"
"""How the tag of such layers begins."""

# " ---> 0ce36d79cca1" of Docker, "--> 0ce36d79cca1" of Podman
_LAYER = re.compile(r" ?-{2,3}> ([0-9a-f]{11,64})")
_RUNNING = re.compile(r" ?-{2,3}> Running in ([0-9a-f]{12,64})")
_REGISTRY = re.compile(r"^(?:localhost|docker\.io)/")  # Podman says one or the other of what came from none
_OURS = re.compile(rf"stackproof/[^:/]+:{KEPT}[0-9a-f]+")
_GONE = 30.0  # seconds
_STEP = 0.05


def build(
    engine: Engine,
    context: IO[bytes],
    *,
    tag: str,
    stack: str,
    arguments: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> None:
    """Build image `tag` of a stack from a tar archive; BuildFailedError when a step fails.

    say: gets its lines. check: called while waiting, raises to end it: nothing of it runs any more then.
    """
    layers: list[str] = []
    running = ""
    ours = {labels.STACK: stack, labels.DIGEST: tag}
    try:
        for line in engine.build(context, tag=tag, arguments=arguments, labels=ours, check=check):
            say(f"  {line}")
            if found := _RUNNING.match(line):
                running = found[1]
            elif found := _LAYER.match(line):
                layers.append(found[1])
    except BaseException:
        _ended(engine, running)
        raise
    finally:
        _name(engine, layers, tag)


def of(engine: Engine, stack: str | None = None) -> tuple[Owned, ...]:
    """The names of all images that were built for a stack, or for any, and of the layers that were kept."""
    return tuple(item for item in engine.named() if _is_ours(item) and stack in (None, stack_of(item)))


def remove(engine: Engine, items: tuple[Owned, ...]) -> tuple[str, ...]:
    """Remove images by name; one line about those that are gone, and one for each that a container still uses."""
    lines: list[str] = []
    gone = {True: 0, False: 0}
    for item in items:
        try:
            engine.remove_image(item.name, force=False)
        except DockerError as error:
            lines.append(f"{item.name} stays: {error.message}")
        else:
            gone[_is_kept(item)] += 1
    if any(gone.values()):
        images = f"{gone[False]} image{'' if gone[False] == 1 else 's'}"
        lines.insert(
            0, f"removed {images} that stacks were built into, and {gone[True]} that were kept for a next build"
        )
    return tuple(lines)


def _plain(item: Owned) -> str:
    return _REGISTRY.sub("", item.name)


def _is_kept(item: Owned) -> bool:
    return _OURS.fullmatch(_plain(item)) is not None


def _is_ours(item: Owned) -> bool:
    # Whoever starts from one of our images has our labels on his own, under another name.
    return _is_kept(item) or item.labels.get(labels.DIGEST) == _plain(item)


def stack_of(item: Owned) -> str:
    """The stack that an image of ours, or a layer, was built for."""
    if not _is_kept(item):
        return item.labels.get(labels.STACK, "")
    return _plain(item).removeprefix("stackproof/").partition(":")[0].removesuffix("-tests").removesuffix("-worker")


def _name(engine: Engine, layers: list[str], tag: str) -> None:
    """Name whatever of these layers has no name; an engine that does not answer any more has said so already.

    An image too that lost its name to another build of the same, by another machine.
    """
    repository = tag.partition(":")[0]
    with suppress(DockerError):
        for image in engine.nameless():
            digest = image.id.removeprefix("sha256:")
            if image.labels.get(labels.DIGEST) == tag or any(digest.startswith(layer) for layer in layers):
                engine.name_image(image.id, repository, f"{KEPT}{digest[:12]}")


def _ended(engine: Engine, running: str) -> None:
    """Wait until the container of a step is gone, and remove it where it stays: the engine does that by itself."""
    if not running:
        return
    deadline = time.monotonic() + _GONE
    with suppress(DockerError):
        while engine.state(running) is not None and time.monotonic() < deadline:
            time.sleep(_STEP)
        engine.remove(running)
