"""Recordings that one job made, brought into the repository by another: a patch, which the second one does not trust.

The first one runs code of a pull request and has no right to write; the second one has it and runs no such code. What
goes between them is a patch, and `checked` looks at it in a repository of its own before any file changes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import RecordingError, UsageError
from stackproof.recorder import sidefile
from stackproof.recordings import gitrange, patching_content, patching_git, patching_names, patching_text
from stackproof.recordings.gitrange import Range
from stackproof.recordings.patching_content import Known
from stackproof.recordings.patching_git import Git, GitError
from stackproof.recordings.patching_text import REGULAR, Patch, RefusedError

_ABSENT = "000000"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A repository and its recordings. top: its folder. root: the recording directory; name: that from the top, with
    slashes, `.` for all of it.
    """

    top: Path
    root: Path
    name: str
    environ: Mapping[str, str]
    known: Known

    def inside(self, path: str) -> str:
        """A path from the top as one from the recording directory."""
        return path if self.name == "." else path.removeprefix(f"{self.name}/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a patch may have at most: files, and bytes as it is and with its binary files unpacked."""

    files: int = 2000
    bytes: int = 32_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """A file that changes, as Git says. was, now: its mode, 000000 where there is no file. content: what it has now."""

    path: str
    was: str
    now: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A patch that may be applied. changed: its files, from the top. between: both states, to be compared."""

    patch: Patch
    changed: tuple[Changed, ...]
    between: Range


def place_of(project: Path, root: Path, environ: Mapping[str, str], known: Known) -> Place:
    """UsageError outside of a repository, or where the recording directory is a link or lies elsewhere."""
    top = gitrange.resolve(project, "HEAD").top.resolve()
    real = root.parent.resolve() / root.name
    if not real.is_relative_to(top):
        raise UsageError(
            f"{root} lies outside of the git repository {top}", hint="--recording-dir names another folder"
        )
    if real.is_symlink():
        raise UsageError(f"{root} is a symbolic link", hint="--recording-dir names a folder")
    return Place(top=top, root=real, name=real.relative_to(top).as_posix(), environ=environ, known=known)


def head(place: Place, revision: str = "HEAD") -> str:
    """The commit in full; UsageError for a revision that is not known."""
    return gitrange.resolve(place.top, revision).before


def make(place: Place, base: str) -> tuple[bytes, tuple[str, ...]]:
    """What differs from commit `base` below the recording directory, as a patch, and the changed files that are none of
    recordings and are not in it.
    """
    files, others = _differing(place, base)
    with patching_git.beside(place.top, base, place.environ) as git:
        given = b"".join(os.fsencode(path) + b"\0" for path in files)
        inside = ("--git-dir", str(git.folder / ".git"), "--work-tree", str(place.top))
        there = Git(folder=place.top, environ=git.environ, options=(*git.options, *inside))
        try:
            there("update-index", "--add", "--remove", "-z", "--stdin", given=given)
        except GitError as error:
            raise RecordingError(f"git cannot read the recordings: {error}", hint="`git status` shows them") from None
        tree = git("write-tree").decode().strip()
        diff = git(
            "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff",
            "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", base, tree,
        )  # fmt: skip
    return patching_text.write(base, place.name, diff), others


def _differing(place: Place, base: str) -> tuple[list[str], tuple[str, ...]]:
    git = patching_git.here(place.top, place.environ)
    raw = git("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, "--", place.name)
    raw += git("ls-files", "-z", "--others", "--exclude-standard", "--", place.name)
    files, others = list[str](), list[str]()
    for path in sorted({os.fsdecode(name) for name in raw.split(b"\0") if name}):
        steps = place.inside(path).split("/")
        named = steps[-1].endswith((".json", ".bin")) and not any(step.startswith(".") for step in steps)
        (files if named else others).append(path)
    return files, tuple(others)


@contextmanager
def checked(place: Place, text: bytes, limits: Limits, *, base: str | None = None) -> Iterator[Checked]:
    """Look at a patch that anybody may have written; RefusedError where it is not to be applied. Nothing is changed.

    base: the commit that it has to be for, the one that is checked out when None. While the block runs, `between` can
    be compared.
    """
    patch = patching_text.read(text, most_bytes=limits.bytes)
    here = head(place) if base is None else base
    if patch.base != here:
        raise RefusedError(f"it is for commit {patch.base[:12]}, and this is {here[:12]}")
    if patch.place != place.name:
        raise RefusedError(
            f"it is for recordings in {patching_names.shown(patch.place)}, and here they are in {place.name}"
        )
    if patch.files > limits.files:
        raise RefusedError(f"it has {patch.files:,} files; --max-files sets another limit than {limits.files:,}")
    with patching_git.beside(place.top, here, place.environ) as git:
        names = _names(git, patch, place) if patch.files else []
        if patch.files:
            try:
                git("apply", "--cached", "--whitespace=nowarn", "-", given=patch.diff)
            except GitError as error:
                raise RefusedError(f"git does not apply it to commit {here[:12]}: {error}") from None
        tree = git("write-tree").decode().strip()
        changed = _changed(git, here, tree)
        _refuse(_modes(changed, names))
        written = [each.path for each in changed if each.now != _ABSENT]
        _refuse(patching_names.collisions(written, _listed(git, here, place)))
        between = Range(top=git.folder, before=here, after=tree, names=(here[:12], "the patch"))
        with gitrange.sides(between, git.folder / place.name) as (_, after):
            found = list(patching_content.refusals(after.root, list(after.names), place.known))
        _refuse([*found, *_bodies(git, tree, changed, place)])
        yield Checked(patch=patch, changed=tuple(changed), between=between)


def _names(git: Git, patch: Patch, place: Place) -> list[str]:
    """The files of a patch, as Git reads it."""
    try:
        told = git("apply", "--numstat", "-z", "-", given=patch.diff)
    except GitError as error:
        raise RefusedError(f"git cannot read it: {error}") from None
    names, wrong = list[str](), list[str]()
    for row in told.split(b"\0"):
        if not row:
            continue
        added, _, name = row.split(b"\t", 2)
        try:
            path = name.decode("utf-8")
        except UnicodeDecodeError:
            wrong.append("a name in it is no UTF-8")
            continue
        why = patching_names.refusal(path, place.name, place.known.secrets)
        if why is None and added == b"-" and not sidefile.is_one(path):
            why = f"{patching_names.shown(path)} is a binary file, and no body beside a recording"
        wrong += [why] if why is not None else []
        names.append(path)
    _refuse(wrong)
    twice = [f"{patching_names.shown(name)} is in it twice" for name, number in Counter(names).items() if number > 1]
    _refuse(twice)
    if len(names) != patch.files:
        raise RefusedError(f"its text has {patch.files} files, and git reads {len(names)}")
    return names


def _changed(git: Git, base: str, tree: str) -> list[Changed]:
    fields = iter(git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, tree).split(b"\0"))
    found = []
    for told in fields:
        if not told:
            break
        was, now, _, content, _ = told.decode().lstrip(":").split()
        found.append(Changed(path=os.fsdecode(next(fields)), was=was, now=now, content=content))
    return found


def _modes(changed: list[Changed], names: list[str]) -> Iterator[str]:
    """What Git did, beside what it said that it would do."""
    for each in changed:
        if each.path not in names:
            yield f"it changes {patching_names.shown(each.path)}, which it does not name"
        for mode in (each.was, each.now):
            if mode not in (REGULAR, _ABSENT):
                yield f"{patching_names.shown(each.path)} is {patching_text.kind_of(mode)}"
                break


def _listed(git: Git, commit: str, place: Place) -> list[str]:
    below = () if place.name == "." else (f"{place.name}/",)
    told = git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, *below)
    return [os.fsdecode(name) for name in told.split(b"\0") if name]


def _bodies(git: Git, tree: str, changed: list[Changed], place: Place) -> Iterator[str]:
    for each in changed:
        if not sidefile.is_one(each.path):
            continue
        folder, slash, file = each.path.rpartition("/")
        owner = _content(git, f"{tree}:{folder}{slash}{sidefile.belongs_to(file)}")
        name = place.inside(each.path)
        if each.now == _ABSENT:
            why = patching_content.lost_refusal(name, owner)
        else:
            why = patching_content.body_refusal(name, git("cat-file", "blob", each.content), owner, place.known)
        if why is not None:
            yield why


def _content(git: Git, name: str) -> bytes | None:
    try:
        return git("cat-file", "blob", name)
    except GitError:
        return None


def _refuse(sentences: Iterator[str] | list[str]) -> None:
    found = list(sentences)
    if found:
        raise RefusedError(*found)


def apply(place: Place, good: Checked) -> None:
    """Change the files, and stage the changes. UsageError where files below the recording directory differ from the
    commit, RefusedError where Git refuses after all: nothing is changed then.
    """
    git = patching_git.here(place.top, place.environ)
    if git("status", "--porcelain", "-z", "--untracked-files=all", "--", place.name):
        raise UsageError(
            f"files in {place.name} differ from the commit that is checked out",
            hint="commit them, or take them back with `git restore`",
        )
    if not good.changed:
        return
    try:
        git("apply", "--index", "-", given=good.patch.diff)
    except GitError as error:
        raise RefusedError(f"git does not apply it to the files here: {error}") from None
    if wrong := _other(git, place, good):
        raise RecordingError(
            f"{patching_names.shown(wrong)} became something else than what was checked",
            hint="`git diff --cached` shows it, `git restore --staged --worktree` takes it back",
        )


def _other(git: Git, place: Place, good: Checked) -> str | None:
    """A file whose staged content is not the one that was looked at; None where there is none."""
    staged = {}
    for row in git("ls-files", "-s", "-z", "--", place.name).split(b"\0"):
        if row:
            facts, _, name = row.partition(b"\t")
            staged[os.fsdecode(name)] = facts.split()[1].decode()
    wanted = {each.path: None if each.now == _ABSENT else each.content for each in good.changed}
    return next((path for path, content in wanted.items() if staged.get(path) != content), None)
