"""Calls of the engine that bring an image to other machines: through a registry, or as an archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from stackproof.errors import DockerError
from stackproof.stack.engine.calls import Calls
from stackproof.stack.engine.heard import heard

if TYPE_CHECKING:
    from docker import APIClient

_SILENT = 600.0  # seconds that an upload may say nothing
_PIECE = 1 << 20
_HINTS = {
    "HTTP response to HTTPS client": "a registry without TLS has to be in `insecure-registries` of every engine",
    "no basic auth credentials": "`docker login` at that registry",
    "unauthorized": "`docker login` at that registry",
    "denied": "`docker login` at that registry as somebody who may push there",
}


class Carrying(Calls):
    """Images on their way to other engines."""

    def push(self, repository: str, tag: str, *, check: Callable[[], None] = lambda: None) -> str:
        """Put an image of that name in its registry; returns the digest by which others fetch it (`sha256:…`).

        Credentials are those that Docker's own configuration has for the registry. check: called while waiting, raises
        to end it. DockerError where the registry does not take it.
        """

        def ask(client: APIClient) -> Iterator[Mapping[str, Any]]:
            found: Iterator[Mapping[str, Any]] = client.push(repository, tag=tag, stream=True, decode=True)
            return found

        digest = ""
        with self._told(f"pushing image {repository}:{tag}"):
            for event in heard(self._another(_SILENT), ask, check):
                if "error" in event:
                    why = " ".join(str(event["error"]).split())
                    hint = next((hint for part, hint in _HINTS.items() if part in why), "")
                    raise DockerError(
                        f"image {repository}:{tag} was not taken by its registry: {why}", hint=hint or None
                    )
                digest = str((event.get("aux") or {}).get("Digest") or digest)
        if not digest:
            raise DockerError(
                f"the registry of {repository} named no digest for the image that it took",
                hint="`docker push` prints one where the registry gives it; take another registry",
            )
        return digest

    def saved(self, reference: str) -> Iterator[bytes]:
        """An image with its name as a tar archive, in pieces."""
        with self._told(f"saving image {reference}"), closing(self._another(_SILENT)) as client:
            yield from client.get_image(reference, chunk_size=_PIECE)

    def load(self, archive: Iterator[bytes]) -> None:
        """Take the images of a tar archive in."""
        with self._told("loading an image"), closing(self._another(_SILENT)) as client:
            for event in client.load_image(archive):  # type: ignore[no-untyped-call]
                if "error" in event:
                    raise DockerError(
                        f"the engine at {self.endpoint} did not take an image: {event['error']}",
                        hint="`docker system df` there says whether it has room",
                    )
