"""Recordings as they were in git: which files differ between two states, and their contents."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.recordings.pairing import Side

_DEADLINE = 120.0  # seconds that one question to git may take
_BATCH = 200  # files that are asked for at once
_FILES = ("100644", "100755")
_SIDE_FILE = re.compile(rb'"file": "([^"\\/]+\.bin)"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Two states: full hashes, `after` None for the files on disk; `top` is the repository's folder."""

    top: Path
    before: str
    after: str | None
    names: tuple[str, str]  # as the person wrote them


def resolve(project: Path, text: str) -> Range:
    """Read `REV`, `A..B` or `A...B` as git does, but REV alone is that commit against the files on disk.

    UsageError without git, outside of a repository, for a revision that is not known, or an unrelated one.
    """
    top = _top(project)
    first, dots, second = _split(text)
    before = _commit(top, first or "HEAD")
    if not dots:
        return Range(top=top, before=before, after=None, names=(first or "HEAD", "the working tree"))
    after = _commit(top, second or "HEAD")
    if dots == "...":
        base = _run(top, "merge-base", before, after)
        if base is None:
            raise UsageError(
                f"{first or 'HEAD'} and {second or 'HEAD'} have no common commit here", hint=_shallow_hint(top)
            )
        before = base.decode().strip()
    return Range(top=top, before=before, after=after, names=(first or "HEAD", second or "HEAD"))


def _split(text: str) -> tuple[str, str, str]:
    dots = "..." if "..." in text else ".." if ".." in text else ""
    first, _, second = text.partition(dots) if dots else (text, "", "")
    return first, dots, second


def _top(project: Path) -> Path:
    found = _run(project, "rev-parse", "--show-toplevel")
    if found is None:
        raise UsageError(
            f"{project} is in no git repository that git would open", hint="`git status` there says what is wrong"
        )
    return Path(os.fsdecode(found).rstrip("\n"))


@contextlib.contextmanager
def sides(between: Range, root: Path) -> Iterator[tuple[Side, Side]]:
    """The files below `root` that differ, as they were and as they are; copies of what git has are removed at the end.

    UsageError when `root` lies outside of the repository.
    """
    place = _below(root, between.top)
    befores, afters = _changed(between, place)
    with tempfile.TemporaryDirectory(prefix="stackproof-diff-") as scratch:
        old, new = Path(scratch, "before"), Path(scratch, "after")
        for folder in (old, new):
            folder.mkdir()
        _copy(between.top, between.before, place, befores, old)
        if between.after is None:
            yield Side(root=old, names=tuple(befores)), Side(root=root, names=tuple(afters))
            return
        _copy(between.top, between.after, place, afters, new)
        yield Side(root=old, names=tuple(befores)), Side(root=new, names=tuple(afters))


def knew(between: Range, root: Path, key: str, name: str) -> bool:
    """Whether any recording below `root` had this value under this key before."""
    text = f'"{key}": {json.dumps(name, ensure_ascii=False)}'
    found = _run(between.top, "grep", "-q", "-F", "-e", text, between.before, "--", _below(root, between.top))
    return found is not None


def file_at(project: Path, path: Path, revision: str, into: Path) -> Path | None:
    """Copy `path` as it was at `revision` into `into`, its side file too; None where it was not there.

    UsageError for a revision that is not known.
    """
    top = _top(project)
    commit = _commit(top, revision)
    place = os.path.relpath(path.absolute(), top)
    if place.startswith("..") or _run(top, "cat-file", "-e", f"{commit}:{place}") is None:
        return None
    folder, _, name = place.rpartition("/")
    _copy(top, commit, folder or ".", [name], into)
    return into / name


def _changed(between: Range, place: str) -> tuple[list[str], list[str]]:
    revisions = [between.before, *([between.after] if between.after else [])]
    raw = _ask(
        between.top, "diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", *revisions, "--", place,
        what="what differs",
    )  # fmt: skip
    befores, afters = list[str](), list[str]()
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if not head:
            break
        was, now, *_ = head.decode().lstrip(":").split()
        name = os.fsdecode(next(fields))
        if was in _FILES:
            befores.append(name)
        if now in _FILES:
            afters.append(name)
    if between.after is None:
        others = _ask(between.top, "ls-files", "-z", "--others", "--exclude-standard", "--", place, what="new files")
        afters += [os.fsdecode(name) for name in others.split(b"\0") if name]
    return _recordings(befores, place), _recordings(afters, place)


def _recordings(paths: Iterable[str], place: str) -> list[str]:
    """Names below the recording directory, without what is none: side files, hidden ones, paths that lead elsewhere."""
    prefix = "" if place == "." else f"{place}/"
    found = []
    for path in sorted(set(paths)):
        steps = path.removeprefix(prefix).split("/")
        is_plain = not any(step in ("", "..") or step[0] == "." for step in steps)
        if is_plain and path.startswith(prefix) and path.endswith(".json"):
            found.append("/".join(steps))
    return found


def _copy(top: Path, commit: str, place: str, names: Sequence[str], into: Path) -> None:
    for start in range(0, len(names), _BATCH):
        beside = list[str]()
        for name, content in _contents(top, commit, place, names[start : start + _BATCH]):
            _write(into / name, content)
            folder = name.rpartition("/")[0]
            beside += [f"{folder}/{os.fsdecode(file)}".lstrip("/") for file in _SIDE_FILE.findall(content)]
        for name, content in _contents(top, commit, place, beside):
            _write(into / name, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _contents(top: Path, commit: str, place: str, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Names and contents; a file that this clone does not have is left out, and will be damaged for its reader."""
    prefix = "" if place == "." else f"{place}/"
    plain = [name for name in names if "\n" not in name]
    if not plain:
        return
    asked = b"".join(os.fsencode(f"{commit}:{prefix}{name}\n") for name in plain)
    answer, at = _ask(top, "cat-file", "--batch", what="the contents of files", given=asked), 0
    for name in plain:
        end = answer.index(b"\n", at)
        head = answer[at:end].rsplit(b" ", 2)
        at = end + 1
        if head[-1] == b"missing" or head[1:2] != [b"blob"]:
            continue
        size = int(head[2])
        yield name, answer[at : at + size]
        at += size + 1


def _below(root: Path, top: Path) -> str:
    place = os.path.relpath(root.resolve(), top.resolve())
    if place.startswith(".."):
        raise UsageError(
            f"{root} lies outside of the git repository {top}", hint="--recording-dir names another folder"
        )
    return place


def _commit(top: Path, revision: str) -> str:
    found = None
    if revision and not revision.startswith("-"):
        found = _run(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if found is None:
        raise UsageError(f"git does not know the revision {revision!r}", hint=_shallow_hint(top))
    return found.decode().strip()


def _shallow_hint(top: Path) -> str:
    shallow = _run(top, "rev-parse", "--is-shallow-repository")
    if shallow is not None and shallow.strip() == b"true":
        return "this clone is shallow: `git fetch --unshallow`, or fetch-depth: 0 where CI checks out"
    return "a branch of another clone is origin/NAME here, after `git fetch`"


def _ask(folder: Path, *arguments: str, what: str, given: bytes = b"") -> bytes:
    found = _run(folder, *arguments, given=given)
    if found is None:
        raise UsageError(f"git does not tell: {what}", hint="`git status` in the project's folder says what is wrong")
    return found


def _run(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """Standard output of git; None when it ends with an error."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "--literal-pathspecs", "-C", str(folder), *arguments],
            input=given,
            capture_output=True,
            timeout=_DEADLINE,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not installed", hint="`diff A B` compares files and folders without it") from None
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"git {arguments[0]} did not answer within {_DEADLINE:.0f} s",
            hint="another git may hold .git/index.lock: end it, or remove the file when none runs",
        ) from None
    return done.stdout if done.returncode == 0 else None
