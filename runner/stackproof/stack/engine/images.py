"""Calls of the engine about images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from stackproof.errors import DockerError
from stackproof.stack.engine.calls import Calls
from stackproof.stack.engine.heard import heard
from stackproof.stack.engine_records import ImageFacts, Owned

if TYPE_CHECKING:
    from docker import APIClient

_SILENT = 1800.0  # seconds that a step of a build, or a download, may say nothing
# "Step 2/6 : …" of Docker, "STEP 2/5: …" and with several stages "[1/2] STEP 2/5: …" of Podman
_STEP = re.compile(r"(?:\[\d+/\d+\] )?step ", re.IGNORECASE)


class BuildFailedError(DockerError):
    """A step of an image's build failed: the infrastructure is at fault, not the tests. log: what the step said."""

    def __init__(self, message: str, *, log: Sequence[str], hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.log = tuple(log)


class Images(Calls):
    """Images: looked at, built, pulled, removed."""

    def image(self, reference: str) -> ImageFacts | None:
        """The image of that name or id; None where it is not on the engine."""
        with self._told(f"looking for image {reference}"):
            found = self._or_none(lambda: self._client.inspect_image(reference))  # type: ignore[no-untyped-call]
        if found is None:
            return None
        config = found.get("Config") or {}
        return ImageFacts(
            id=str(found["Id"]),
            size=int(found.get("Size") or 0),
            labels=dict(config.get("Labels") or {}),
            entrypoint=tuple(config.get("Entrypoint") or ()),
            command=tuple(config.get("Cmd") or ()),
            user=str(config.get("User") or ""),
            working_dir=str(config.get("WorkingDir") or ""),
        )

    def build(
        self,
        context: IO[bytes],
        *,
        tag: str,
        dockerfile: str = "Dockerfile",
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
        check: Callable[[], None] = lambda: None,
    ) -> Iterator[str]:
        """Build an image from a tar archive, without a network; yields what the build says, line by line.

        check: called while waiting, raises to end it. BuildFailedError when a step fails; nothing of it is left then
        but layers that the engine may use again.
        """
        log: list[str] = []
        with self._told(f"building image {tag}"):

            def ask(client: APIClient) -> Iterator[Mapping[str, Any]]:
                found: Iterator[Mapping[str, Any]] = client.build(
                    fileobj=context,
                    custom_context=True,
                    dockerfile=dockerfile,
                    tag=tag,
                    buildargs=dict(arguments),
                    labels=dict(labels),
                    network_mode="none",
                    rm=True,
                    forcerm=True,
                    decode=True,
                    timeout=int(_SILENT),
                    # Without a network it needs no proxy of the command line's file, and its layers would keep them.
                    use_config_proxy=False,
                )
                return found

            for event in heard(self._another(_SILENT), ask, check):
                if "error" in event:
                    raise BuildFailedError(
                        f"image {tag} could not be built: {_step(log)}{str(event['error']).strip()}", log=log
                    )
                for line in str(event.get("stream") or "").splitlines():
                    if line.strip():
                        log.append(line)
                        yield line

    def pull(self, reference: str, *, check: Callable[[], None] = lambda: None) -> Iterator[Mapping[str, Any]]:
        """Fetch an image from its registry; yields the engine's events: `status`, `id` of a layer, `progressDetail`.

        check: called while waiting, raises to end it. DockerError when it cannot be fetched.
        """
        name, _, tag = reference.rpartition(":") if ":" in reference.rpartition("/")[2] else (reference, "", "latest")
        with self._told(f"pulling image {reference}"):
            for event in heard(
                self._another(_SILENT), lambda client: client.pull(name, tag=tag, stream=True, decode=True), check
            ):
                if "error" in event:
                    raise DockerError(str(event["error"]).strip())
                yield event

    def named(self) -> tuple[Owned, ...]:
        """Every name of an image on the engine. One with several names is there several times, one without is not."""
        with self._told("listing images"):
            found = self._client.images()
        return tuple(
            Owned(kind="image", id=str(item["Id"]), name=str(name), labels=dict(item.get("Labels") or {}))
            for item in found
            for name in item.get("RepoTags") or ()
            if name != "<none>:<none>"
        )

    def nameless(self) -> tuple[Owned, ...]:
        """The images that have no name, and that no other was made from; their id is in the place of one."""
        with self._told("listing images without a name"):
            found = self._client.images(filters={"dangling": True})
        return tuple(
            Owned(kind="image", id=str(item["Id"]), name=str(item["Id"]), labels=dict(item.get("Labels") or {}))
            for item in found
        )

    def name_image(self, image: str, repository: str, tag: str) -> None:
        """Give an image a name."""
        with self._told(f"naming image {image}"):
            self._client.tag(image, repository, tag)

    def remove_image(self, reference: str, *, force: bool = True) -> None:
        """Remove an image, or one of its names; nothing happens where it is not there.

        Without `force` it is a DockerError when a container uses it.
        """
        with self._told(f"removing image {reference}"):
            self._or_none(lambda: self._client.remove_image(reference, force=force))


def _step(log: Sequence[str]) -> str:
    step = next((line for line in reversed(log) if _STEP.match(line)), None)
    return "" if step is None else f"{step.strip()}: "
