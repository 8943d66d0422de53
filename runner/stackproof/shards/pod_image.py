"""The image that runs shards of a project anywhere: a stack, its tests' packages, Stackproof, the project, recordings.

It starts from the image of a worker, which lacks the last three. It is for whoever pulls it, so it holds what Git
keeps and nothing else: a file that is ignored may be somebody's password.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from stackproof.catalog.records import StackSpec
from stackproof.errors import UsageError
from stackproof.evidence import git
from stackproof.shards.kubernetes import PROJECT, USER
from stackproof.stack import built, contained_tests, luggage, project
from stackproof.stack.engine import Engine
from stackproof.stack.luggage import Folder
from stackproof.swarm import worker_image

# BASE has a shell and the coreutils, as every Debian has. `contents.tar` is unpacked by ADD.
_DOCKERFILE = """\
ARG BASE
FROM ${{BASE}}
ADD contents.tar /
COPY source.json {project}/{packed}
RUN mkdir -p {project}/.stackproof && chown {user}:{user} {project}/.stackproof \\
 && echo 'shards:x:{user}:{user}::/tmp:/bin/sh' >>/etc/passwd && echo 'shards:x:{user}:' >>/etc/group
ENV PATH={bin}:$PATH PYTHONPATH=/stackproof/lib PYTHONDONTWRITEBYTECODE=1 STACKPROOF_PYTHON={python}
WORKDIR {project}
USER {user}:{user}
CMD ["python", "-m", "stackproof", "--help"]
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PodImage:
    """An image that is on the engine. name: with a tag made of all that is in it. files: of the project."""

    name: str
    source: git.SourceState
    files: int


def prepare(
    engine: Engine,
    stack: StackSpec,
    root: Path,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    check: Callable[[], None],
) -> PodImage:
    """Build it where the engine has none of these contents. Raises what the image of a worker does.

    root: the project. check: called while waiting, raises to end it.
    """
    if stack.docker is None:
        raise UsageError(
            f"stack {stack.name!r} does not say how it is put into an image",
            hint=f"add a `docker` section to {stack.source}, with `tests`",
        )
    worker, facts = worker_image.prepare(engine, stack, environment=environment, say=say, check=check)
    source = git.state(root)
    ours = replace(_of_project(root), inside=Path(PROJECT), as_mounted=True)
    folders = [
        *(
            replace(luggage.everything(path), inside=Path(inside), as_mounted=True)
            for path, inside in contained_tests.ourselves()
        ),
        ours,
    ]
    bin_folder = Path(stack.docker.python).parent
    # The project's configuration may name a Python of another machine.
    dockerfile = _DOCKERFILE.format(
        bin=bin_folder, python=stack.docker.python, project=PROJECT, user=USER, packed=git.PACKED
    ).encode()
    state = hashlib.sha256(facts.id.encode() + dockerfile + git.packed(source))
    for line in _lines(folders):
        state.update(line)
    tag = f"stackproof/{stack.name}-shards:{state.hexdigest()[:16]}"
    made = PodImage(name=tag, source=source, files=len(ours.files))
    if engine.image(tag) is not None:
        return made
    say(f"building {tag} from {worker}")
    with luggage.packed(folders, owner=(0, 0)) as contents, tempfile.TemporaryFile() as context:
        with tarfile.open(fileobj=context, mode="w") as archive:
            _add(archive, "Dockerfile", io.BytesIO(dockerfile), len(dockerfile))
            said = git.packed(source)
            _add(archive, "source.json", io.BytesIO(said), len(said))
            size = contents.seek(0, io.SEEK_END)
            contents.seek(0)
            _add(archive, "contents.tar", contents, size)
        context.seek(0)
        built.build(engine, context, tag=tag, stack=stack.name, arguments={"BASE": worker}, say=say, check=check)
    return made


def _of_project(root: Path) -> Folder:
    kept = git.tracked(root)
    return project.files(root, without=root / ".stackproof") if kept is None else Folder(path=root, files=kept)


def _lines(folders: Iterable[Folder]) -> Iterator[bytes]:
    """What of the contents decides on the image's name: where each file is, and what is in it."""
    for folder in folders:
        for path in folder.files:
            inside = (folder.inside or folder.path) / path.relative_to(folder.path)
            data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            executable = b"x" if path.lstat().st_mode & 0o100 else b"-"
            yield str(inside).encode() + b"\0" + executable + hashlib.sha256(data).digest()


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    archive.addfile(entry, content)
