"""What stands for the repository on GitHub: a bare clone that jobs check out, and that notes who pushes what.

main is the commit that is rehearsed. A pull request has one commit more, with nothing or a given patch in it, and a
merge commit; so has a merge group.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.rehearsal.commands import CANARY

from stackproof.errors import UsageError

NUMBER = 7
# A branch's name comes from whoever opens the pull request, and Git permits this one.
HEAD_BRANCH = f"change/{CANARY}-$(touch${{IFS}}$REHEARSAL_CANARY)"
TAG = "v0.0.0-rehearsal"
_TIMEOUT = 120
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    # The same commit twice over: what was made for it in one rehearsal is for it in the next.
    for what, value in (("NAME", "Rehearsal"), ("EMAIL", "rehearsal@example.invalid"), ("DATE", "1767225600 +0000"))
}
# The hook runs beside the job, so it can ask what the job's token permits.
_HOOK = """#!/bin/sh
while read -r old new ref; do
  case ",$REHEARSAL_PERMISSIONS," in
    *,contents=write,*) echo "$ref $old $new" >>"{notes}" ;;
    *) echo "remote: this job's token may not write contents: 403" >&2; exit 1 ;;
  esac
done
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """folder: the bare repository. The commits by their place; notes: one line for each ref that was pushed."""

    folder: Path
    notes: Path
    commit: str
    parent: str
    head: str
    merge: str

    def show(self, path: str, revision: str) -> str | None:
        """A file's text at a commit; None where it has none."""
        done = _git(self.folder, "show", f"{revision}:{path}", check=False)
        return done.stdout if done.returncode == 0 else None

    def paths(self, folder: str, revision: str) -> list[str]:
        """Files below a folder at a commit."""
        return _git(self.folder, "ls-tree", "-r", "--name-only", revision, "--", folder).stdout.splitlines()

    def lay_out(self, folder: str, revision: str, to: Path) -> None:
        """The files of a folder at a commit, below another folder."""
        for path in self.paths(folder, revision):
            target = to / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.show(path, revision) or "")

    def pushes(self) -> list[str]:
        """What was pushed: `ref old new`."""
        return self.notes.read_text().splitlines() if self.notes.exists() else []


def make(project: Path, commit: str, change: Path | None, folder: Path) -> Origin:
    """Clone a project's commit into an empty folder. Raises UsageError."""
    done = _git(project, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", check=False)
    if done.returncode:
        raise UsageError(f"{commit} is no commit of {project.name}", hint="commit first: a rehearsal takes commits")
    main = done.stdout.strip()
    bare = folder / "origin.git"
    wanted = ["-c", "uploadpack.allowAnySHA1InWant=true", "-c", "uploadpack.allowFilter=true"]
    _git(folder, "clone", "--quiet", "--bare", "--no-tags", *wanted, str(project), str(bare))
    parent = _git(bare, "rev-parse", "--verify", "--quiet", f"{main}^", check=False).stdout.strip() or main
    tree = _tree(bare, main, change, folder)
    head = _git(bare, "commit-tree", tree, "-p", main, "-m", "A change").stdout.strip()
    merge = _git(bare, "commit-tree", tree, "-p", main, "-p", head, "-m", "Merge a change").stdout.strip()
    refs = {
        "refs/heads/main": main,
        f"refs/heads/{HEAD_BRANCH}": head,
        f"refs/pull/{NUMBER}/head": head,
        f"refs/pull/{NUMBER}/merge": merge,
        f"refs/heads/gh-readonly-queue/main/pr-{NUMBER}-{head}": merge,
        f"refs/tags/{TAG}": main,
    }
    there = _git(bare, "for-each-ref", "--format=%(refname)").stdout.splitlines()
    told = [f"delete {ref}" for ref in there if ref not in refs] + [f"update {ref} {one}" for ref, one in refs.items()]
    _git(bare, "update-ref", "--stdin", told="\n".join(told) + "\n")
    _git(bare, "symbolic-ref", "HEAD", "refs/heads/main")
    notes = folder / "pushes.txt"
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_HOOK.replace("{notes}", str(notes)))
    hook.chmod(0o755)
    return Origin(folder=bare, notes=notes, commit=main, parent=parent, head=head, merge=merge)


def _tree(bare: Path, main: str, change: Path | None, folder: Path) -> str:
    if change is None:
        return _git(bare, "rev-parse", f"{main}^{{tree}}").stdout.strip()
    index = {"GIT_INDEX_FILE": str(folder / "change.index")}
    _git(bare, "read-tree", main, extra=index)
    done = _git(bare, "apply", "--cached", str(change.resolve()), check=False, extra=index)
    if done.returncode:
        raise UsageError(f"{change.name} cannot be applied to the commit: {done.stderr.strip()}")
    return _git(bare, "write-tree", extra=index).stdout.strip()


def clone(origin: Origin, commit: str, depth: int, folder: Path) -> None:
    """Lay a commit out in an empty folder, detached; depth 0: with everything."""
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    _git(folder, "remote", "add", "origin", f"file://{origin.folder}")
    deep = ["--depth", str(depth)] if depth else []
    _git(folder, "fetch", "--quiet", *deep, "origin", "+refs/heads/main:refs/remotes/origin/main", commit)
    _git(folder, "checkout", "--quiet", "--detach", commit)


def git_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Variables for a git of our own: nobody's settings, nothing asked."""
    kept = {name: value for name, value in base.items() if not name.startswith("GIT_")}
    return {**kept, **_WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}


def _git(
    folder: Path, *words: str, check: bool = True, extra: Mapping[str, str] | None = None, told: str | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=folder,
        env={**git_environment(os.environ), **(extra or {})},
        input=told,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if check and done.returncode:
        raise UsageError(f"git {words[0]} failed in {folder.name}: {done.stderr.strip()}")
    return done
