"""Large binary bodies lie beside their recording, in a file named after both: base64 in JSON helps nobody past 64 KiB.

In memory such a body is `{"bytes": …}`; in the file it is `{"file": NAME}`. The name begins with the recording's own,
so that whoever moves or removes a recording knows what belongs to it, and ends with the digest of the content.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from binascii import a2b_base64
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

LIMIT = 64 * 1024
_ENDING = ".bin"


class SideFileError(ValueError):
    """A side file that is missing, has another content than its name says, or a name that leads elsewhere."""


@contextlib.contextmanager
def held(path: str) -> Iterator[None]:
    """Keep others from changing what lies beside recordings in the folder of `path`, while the block does.

    A side file is there before the recording that names it, and whoever writes or removes the same recording just then
    would take it for a leftover. The lock is the folder's own, so no file is left of it, and goes with its holder.
    """
    try:
        handle = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield  # no folder, and nothing in it
        return
    try:
        with contextlib.suppress(OSError):  # a file system that has no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        # Not by closing alone: a child that was forked meanwhile has the open folder, too, and would keep the lock.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def put_out(path: str, recording: dict[str, Any]) -> dict[str, Any]:
    """Write a large binary body of the recording at `path` beside it; returns what goes into the JSON file."""
    content = large(recording["response"].get("body"))
    if content is None:
        return recording
    name = _name(path, content)
    target = os.path.join(os.path.dirname(path), name)
    temporary = os.path.join(os.path.dirname(path), f".{name}.{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return {**recording, "response": {**recording["response"], "body": {"file": name}}}


def take_in(path: str, recording: dict[str, Any]) -> None:
    """Read the side file that a recording names into its body; SideFileError when that cannot be."""
    response = recording.get("response")
    if not isinstance(response, dict):
        return
    body = response.get("body")
    if not isinstance(body, dict) or "file" not in body:
        return
    name = str(body["file"])
    if not name.startswith(_stem(path) + ".") or os.path.basename(name) != name or not name.endswith(_ENDING):
        raise SideFileError(f"its body is said to be in {name!r}, which is no file of this recording")
    try:
        with open(os.path.join(os.path.dirname(path), name), "rb") as file:
            content = file.read()
    except OSError as error:
        raise SideFileError(f"its body in {name} cannot be read: {error.strerror}") from None
    if sha256(content).hexdigest()[:20] != name.split(".")[-2]:
        raise SideFileError(f"its body in {name} is not the one that was recorded")
    response["body"] = {"bytes": content}


def remove(path: str, *, but: str | None = None) -> None:
    """Remove the side files of the recording at `path`, except the one named `but`."""
    folder, stem = os.path.dirname(path), _stem(path)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(stem + ".") and name.endswith(_ENDING) and name != but:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def remove_stale(path: str, recording: dict[str, Any]) -> None:
    """Remove the side files that the recording now at `path` does not name."""
    content = large(recording["response"].get("body"))
    remove(path, but=None if content is None else _name(path, content))


def is_one(name: str) -> bool:
    """Whether a file of this name is a side file."""
    return name.endswith(_ENDING)


def belongs_to(name: str) -> str:
    """The file name of the recording beside which a side file lies."""
    return name.partition(".")[0] + ".json"


def large(body: Any) -> bytes | None:
    """The content of a body that belongs into a side file; None for any other."""
    if not isinstance(body, dict):
        return None
    content: bytes | None = body.get("bytes")
    if content is None and len(body.get("base64", "")) * 3 // 4 > LIMIT:
        content = a2b_base64(body["base64"])
    return content


def _name(path: str, content: bytes) -> str:
    return f"{_stem(path)}.{sha256(content).hexdigest()[:20]}{_ENDING}"


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".json")
