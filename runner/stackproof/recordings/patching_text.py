"""The text of a patch of recordings: a head of ours, then what `git diff` writes, and nothing else.

    stackproof recordings patch 1
    base <commit in full>
    recordings <directory, below the top of the repository>

    diff --git a/… b/…

Only what Git writes for whole files that come, go or change is let through: nothing is renamed, no mode is changed,
and a binary file is there whole. Git itself then says which files those are, and what becomes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackproof.errors import RecordingError
from stackproof.recordings.wording import one_line, shortened

FORMAT = 1
_TITLE = f"stackproof recordings patch {FORMAT}"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REGULAR = "100644"
_KINDS = {"100755": "an executable file", "120000": "a symbolic link", "160000": "a submodule", "040000": "a folder"}
# Lines that Git writes between the name of a file and its content, as far as we want any of them.
_KNOWN = re.compile(
    rb"diff --git .+|index [0-9a-f]+\.\.[0-9a-f]+(?: 100644)?|new file mode 100644|deleted file mode 100644|"
    rb"GIT binary patch|literal [0-9]+|--- .+|\+\+\+ .+|@@ -[0-9,]+ \+[0-9,]+ @@.*|\\ No newline at end of file"
)
_CONTENT = re.compile(rb"[ +-].*|[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5,}|", re.DOTALL)
_MODE = re.compile(rb"(?:(?:new file|deleted file|old|new) mode|index [0-9a-f]+\.\.[0-9a-f]+) ([0-7]+)")
_RENAMED = (b"rename ", b"copy ", b"similarity ", b"dissimilarity ")


class RefusedError(RecordingError):
    """A patch that is not applied. sentences: why, one for each thing that is wrong with it, at least one."""

    def __init__(self, *sentences: str) -> None:
        more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
        super().__init__(
            f"the patch is refused: {sentences[0]}{more}",
            hint="nothing was changed; `stackproof recordings patch` makes one anew",
        )
        self.sentences = sentences


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """base: the commit that it is for. place: the recording directory that it is for. diff: what `git apply` takes.
    files: how many are in it, as far as its text says.
    """

    base: str
    place: str
    diff: bytes
    files: int


def write(base: str, place: str, diff: bytes) -> bytes:
    """The whole text."""
    return f"{_TITLE}\nbase {base}\nrecordings {place}\n\n".encode() + diff


def read(text: bytes, *, most_bytes: int) -> Patch:
    """Take a text apart that anybody may have written; RefusedError where it is no such patch.

    most_bytes: of the text, and of all binary files in it when they are unpacked.
    """
    if len(text) > most_bytes:
        raise RefusedError(f"it has more than {most_bytes:,} bytes; --max-bytes sets another limit")
    if b"\r" in text:
        raise RefusedError("it holds carriage returns, which no recording has: was it carried over another system?")
    if b"\0" in text:
        raise RefusedError("it holds a zero byte, which no recording has")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError("it is no UTF-8") from None
    head, _, diff = text.partition(b"\n\n")
    base, place = _head(head.decode("utf-8"))
    lines = diff.split(b"\n")
    _look(lines)
    unpacked = sum(int(line[8:][:18]) for line in lines if line.startswith(b"literal "))
    if unpacked > most_bytes:
        raise RefusedError(f"its binary files have {unpacked:,} bytes unpacked, and {most_bytes:,} are allowed")
    return Patch(base=base, place=place, diff=diff, files=sum(line.startswith(b"diff --git ") for line in lines))


def kind_of(mode: str) -> str:
    """What a mode of Git's stands for."""
    return _KINDS.get(mode, f"of mode {mode}")


def _head(text: str) -> tuple[str, str]:
    match text.split("\n"):
        case [title, base, place] if title == _TITLE and base.startswith("base ") and place.startswith("recordings "):
            commit = base.removeprefix("base ")
            if _COMMIT.fullmatch(commit):
                return commit, place.removeprefix("recordings ")
            raise RefusedError("it does not name the commit that it is for in full")
        case _:
            raise RefusedError("it is none of recordings, which `stackproof recordings patch` makes")


def _look(lines: list[bytes]) -> None:
    """Refuse at the first line that Git would understand in a way that we do not want, or not at all."""
    if lines != [b""] and not lines[0].startswith(b"diff --git "):
        raise RefusedError("something stands before its first file")
    for line, kept in _apart(lines):
        if kept:
            continue
        mode = _MODE.fullmatch(line)
        if line.startswith(_RENAMED):
            raise RefusedError("a file is renamed or copied in it")
        if mode is not None and line.startswith((b"old ", b"new mode")):
            raise RefusedError("the mode of a file is changed in it")
        if mode is not None and mode[1].decode() != REGULAR:
            raise RefusedError(f"a file in it is {kind_of(mode[1].decode())}")
        if line.startswith(b"delta "):
            raise RefusedError("a binary file in it is a difference, and has to be whole")
        if not _KNOWN.fullmatch(line):
            shown = shortened(one_line(line.decode("utf-8")), 60)
            raise RefusedError(f"a line in it is no part of a patch: {shown}")


def _apart(lines: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it can be content alone: Git's own lines begin with a word and a blank."""
    for line in lines:
        own = line.startswith((b"--- ", b"+++ ")) or not _CONTENT.fullmatch(line)
        yield line, not own
