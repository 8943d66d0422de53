"""Takes the way out away from containers of other people's images, which have nothing to do it with, in replay.

On a network from which nothing gets out, a container's default route leads to where a connection hangs. A second
container of the stack's image is in the network of the first for a moment, with the right to take the route away, and
has the same `/etc/resolv.conf`. So the first needs neither Python nor any right.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from stackproof.errors import DockerError, StackStartError
from stackproof.stack import enter
from stackproof.stack.container import Container
from stackproof.stack.engine_records import ContainerSpec
from stackproof.stack.place import Place

_WITHIN = 60.0  # seconds
_STEP = 0.02
_WRITE = "cat >/etc/resolv.conf"


class WayOut:
    """What can be done about it in one place; whatever cannot is said once."""

    def __init__(self, where: Place, say: Callable[[str], None], check: Callable[[], None]) -> None:
        """where: with an image that has a Python, the stack's. check: called while waiting, raises to end it."""
        self._where, self._say, self._check = where, say, check
        self._impossible = False

    def close(self, container: Container) -> None:
        """Leave it nobody to ask for names, and no default route; it runs, and its own program does not yet.

        StackStartError when it would go on asking the engine for names: that is a way out.
        """
        if not self._where.internal or (not self._impossible and self._both(container)):
            return
        self._names(container)

    def _both(self, container: Container) -> bool:
        try:
            why = self._beside(container)
        except DockerError as error:
            why = error.message
        if why and not container.ends():
            self._impossible = True
            self._say(f"a connection out of containers beside the stack hangs in place of failing at once: {why}")
        return not why

    def _beside(self, container: Container) -> str:
        """Why the second container could not do it, else empty."""
        where = self._where
        spec = ContainerSpec(
            name=where.name(f"shuts-{container.name}"),
            image=where.image,
            entrypoint=(),
            # As an argument: a file would need a folder that the engine shares, or a copy.
            command=(where.python, "-I", "-S", "-c", Path(enter.__file__).read_text(encoding="utf-8"), "unname"),
            labels=where.labels,
            user="0:0",
            network=f"container:{container.id}",
            capabilities=("NET_ADMIN",),
        )
        # Before it is made: an answer of the engine that gets lost must not leave it behind.
        where.undo.callback(where.engine.remove, spec.name)
        try:
            made = where.engine.create(spec)
            where.engine.start(made)
            return self._ended(made)
        finally:
            with suppress(DockerError):  # then it goes with everything else
                where.engine.remove(spec.name)

    def _ended(self, made: str) -> str:
        where = self._where
        deadline = time.monotonic() + _WITHIN
        while (state := where.engine.state(made)) is not None and state.code is None:
            self._check()
            if time.monotonic() > deadline:
                return f"what takes their default route away did not end within {_WITHIN:g} s"
            time.sleep(_STEP)
        if state is None:
            return "somebody removed the container that takes their default route away"
        if state.code == 0:
            return ""
        said = b"".join(where.engine.logs(made, follow=False)).decode("utf-8", "replace").strip()
        why = f": {said.splitlines()[-1]}" if said else ""
        return f"{where.python} in {where.image} could not take their default route away{why}"

    def _names(self, container: Container) -> None:
        code = 1
        try:
            code = self._where.engine.run_inside(
                container.id, ["sh", "-c", _WRITE], given=enter.NOBODY.encode(), as_root=True
            )
        except DockerError:
            if not container.ends():
                raise
        if code != 0 and not container.ends():
            raise StackStartError(
                f"{container.name} goes on asking the engine for names: `{_WRITE}` in it exited with code {code}",
                hint="its image needs `sh` and `cat`, and a root that may write there",
            )
