"""The image of a stack: named after everything that it is made of, so that nothing is built twice."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, assert_never

from stackproof.catalog.records import BesideSpec, DockerSpec, ServiceImage, ServiceSpec, StackSpec
from stackproof.errors import DockerError, UsageError
from stackproof.stack import built, interpreter, prepared, service, wheelhouse
from stackproof.stack.engine import Engine
from stackproof.stack.engine_records import ImageFacts

Built = StackSpec | BesideSpec | ServiceSpec
"""Whatever has a `docker` section."""

_IGNORED = ("__pycache__", ".stackproof", "node_modules", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache")
_WHEELS = "wheels"
_WORKER = "-worker"


def prepare(
    engine: Engine,
    stack: Built,
    *,
    base: str | None,
    with_tests: bool = False,
    more: Callable[[bytes], bytes] | None = None,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> tuple[str, ImageFacts]:
    """The name of the image that `stack` runs in, built first where the engine has none of these contents, and itself.

    base: the image to start from, in place of the one in stack.yaml. with_tests: what the tests need is in it too.
    more: gets the requirements so far, and gives what a worker needs beside them. say: gets the lines of a build.
    check: called while waiting, raises to end it. DockerError when a base image is missing, BuildFailedError when a
    step fails.
    """
    spec = stack.docker
    if spec is None:
        raise UsageError(f"{_kind(stack)} {stack.name!r} has no `docker` section", hint=f"add it to {stack.source}")
    if spec.image is not None:
        return spec.image, _there(engine, spec.image, stack)
    start_from = base or spec.base
    found = _there(engine, start_from, stack, base=True)
    asked = _requirements(stack, spec, with_tests=with_tests)
    kind = f"{stack.name}-tests" if with_tests else stack.name
    if more is not None:
        asked, kind = asked + more(asked), f"{stack.name}{_WORKER}"
    alone = b"".join(path.read_bytes() for path in spec.unpacked) if isinstance(spec, ServiceImage) else b""
    made = _made(stack, environment=environment, say=say, check=check)
    # The folder of what was prepared is named after all that it is made of.
    named = b"" if made is None else made.name.encode()
    tag = f"stackproof/{kind}:{_digest(stack, spec, found, asked + alone + named)}"
    ready = engine.image(tag)
    if ready is not None:
        return tag, ready
    locks = service.cache_folder(environment).parent / "images"
    locks.mkdir(parents=True, exist_ok=True)
    # Two that build the same at once would make two images, and the second would take the name from the first.
    with service.locked(locks / f"{kind}.lock", stack.name, check):
        if (ready := engine.image(tag)) is not None:
            return tag, ready
        say(f"building {tag} from {start_from}")
        wheels = None
        if asked:
            target = wheelhouse.target_of(engine, found.id)
            _require_python(stack, target.version, start_from)
            wheels = wheelhouse.prepare(asked, target, alone=alone, environment=environment, say=say, check=check)
        with tempfile.TemporaryFile() as context:
            _pack(context, stack, spec, wheels, asked, made=made)
            context.seek(0)
            built.build(
                engine, context, tag=tag, stack=stack.name, arguments={"BASE": start_from}, say=say, check=check
            )
    return tag, _there(engine, tag, stack)


def _require_python(stack: Built, version: str, base: str) -> None:
    """Before anything is fetched for it: what the stack needs is not what every base has."""
    needed = stack.python if isinstance(stack, StackSpec) else None
    major, minor = version.split(".")[:2]
    if needed is not None and not needed.fits((int(major), int(minor))):
        raise DockerError(
            f"base image {base} has Python {version}, and stack {stack.name!r} needs {needed.words}",
            hint=f"{interpreter.variable('STACKPROOF_DOCKER_BASE', stack.name)} names another one for this stack alone",
        )


def _made(
    stack: Built, *, environment: Mapping[str, str], say: Callable[[str], None], check: Callable[[], None]
) -> Path | None:
    """What has to be made of the stack's folder first: a build could fetch nothing."""
    if not isinstance(stack, StackSpec) or stack.prepare is None:
        return None
    return prepared.make(stack.name, stack.prepare, stack.folder, environment=environment, say=say, check=check)


def _there(engine: Engine, reference: str, stack: Built, *, base: bool = False) -> ImageFacts:
    found = engine.image(reference)
    if found is None:
        other = (
            f"{stack.source} says where it comes from, and may name another"
            if isinstance(stack, BesideSpec)
            else "STACKPROOF_DOCKER_BASE names another base image"
        )
        raise DockerError(
            f"the {'base ' if base else ''}image of {_kind(stack)} {stack.name!r}, {reference}, "
            f"is not on the engine at {engine.endpoint}",
            hint=f"`docker pull {reference}` fetches it; {other}",
        )
    return found


def _kind(stack: Built) -> str:
    match stack:
        case StackSpec():
            return "stack"
        case BesideSpec():
            return "container"
        case ServiceSpec():
            return "service"
    assert_never(stack)


def _files(stack: Built, spec: DockerSpec) -> Iterator[tuple[Path, str]]:
    """What the build sees, and how it is called below `stack/`, in a fixed order.

    That is as it is called in the stack's folder. What lies elsewhere, as the code of most projects does, is there
    under its own name: `../../desk` is `stack/desk`.
    """
    roots = [Path(os.path.normpath(root)) for root in spec.context] or [stack.folder]
    folder = Path(os.path.normpath(stack.folder))
    seen: set[Path] = set()
    for root in roots:
        below = folder if root.is_relative_to(folder) else root.parent
        found = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
        for path in found:
            if path not in seen and not any(part in _IGNORED for part in path.relative_to(below).parts):
                seen.add(path)
                yield path, path.relative_to(below).as_posix()


def _requirements(stack: Built, spec: DockerSpec, *, with_tests: bool) -> bytes:
    """What pip is asked for; nothing where the image needs no more than its base."""
    if with_tests and spec.tests is None:
        raise UsageError(
            f"stack {stack.name!r} does not say what its tests need in a container",
            hint=f"name a file for pip as `tests` in the `docker` section of {stack.source}",
        )
    files = [path for path in (spec.requirements, spec.tests if with_tests else None) if path is not None]
    return b"".join(path.read_bytes() for path in files)


def _digest(stack: Built, spec: DockerSpec, base: ImageFacts, asked: bytes) -> str:
    """Sixteen digits of everything that goes into the image: Dockerfile, context, requirements, base."""
    state = hashlib.sha256(base.id.encode() + hashlib.sha256(asked).digest())
    extra = [] if spec.dockerfile is None else [(spec.dockerfile, spec.dockerfile.name)]
    for path, name in (*extra, *_files(stack, spec)):
        executable = b"x" if os.access(path, os.X_OK) else b"-"
        state.update(name.encode() + b"\0" + executable + hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]


def _pack(
    context: IO[bytes], stack: Built, spec: DockerSpec, wheels: Path | None, asked: bytes, *, made: Path | None
) -> None:
    """The build's context: the stack's files, `Dockerfile`, `requirements.txt`, the wheels, and what was prepared."""
    with tarfile.open(fileobj=context, mode="w") as archive:
        for path, name in _files(stack, spec):
            archive.add(path, arcname=f"stack/{name}", filter=_plain)
        if spec.dockerfile is not None:
            archive.add(spec.dockerfile, arcname="Dockerfile", filter=_plain)
        if asked:
            info = tarfile.TarInfo("requirements.txt")
            info.size, info.mode = len(asked), 0o644
            archive.addfile(info, io.BytesIO(asked))
        for path in prepared.results(made) if made is not None else ():
            archive.add(path, arcname=f"prepared/{path.name}", filter=_plain)
        for wheel in sorted(wheels.glob("*.whl")) if wheels is not None else ():
            archive.add(wheel, arcname=f"{_WHEELS}/{wheel.name}", filter=_plain)


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    # The engine's own cache compares owners, rights and times: a fresh clone must not look like a change.
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    return info
