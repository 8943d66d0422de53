"""What every interception has to settle before it replaces a method: whose method it is, and of which version."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

MARK = "__stackproof__"
# As messages name them: calls through these are seen.
LIBRARIES = "httpx, httpx2, aiohttp, requests or urllib3"


class InstallError(Exception):
    """The recorder cannot be put into this process. The message says what is in its way."""


class ForeignPatchError(InstallError):
    """Another tool has replaced the same method: with two recorders a call would be answered by either."""


class UnsupportedVersionError(InstallError):
    """A library is older than what its interception knows how to answer with."""


def require_own(method: Any, place: str, *packages: str) -> None:
    """ForeignPatchError unless `method` was written in one of `packages`, or is ours."""
    origin = origin_of(method)
    if origin.partition(".")[0] not in packages and not hasattr(method, MARK):
        raise ForeignPatchError(f"{place} is already replaced by {origin}")


def origin_of(method: Any) -> str:
    """The module in which a method was really written: `functools.wraps` copies every name but this one."""
    code_of = getattr(method, "__globals__", None)
    return str(code_of["__name__"] if code_of is not None else type(method).__module__)


def require_version(module: ModuleType, lowest: tuple[int, ...]) -> None:
    """UnsupportedVersionError when the module's version is below `lowest`."""
    found = str(getattr(module, "__version__", "0"))
    if version_of(found) < lowest:
        needed = ".".join(map(str, lowest))
        raise UnsupportedVersionError(
            f"{module.__name__} {found} is installed, and calls through it are recorded from version {needed} on"
        )


def version_of(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: "2.0.7.post1" is (2, 0, 7)."""
    numbers = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in numbers.group().split(".")) if numbers else ()
