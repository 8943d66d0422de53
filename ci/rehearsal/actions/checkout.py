"""actions/checkout: the commit of the event, alone and detached, unless more is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ci.rehearsal.actions.call import Call, FailedError, Played
from ci.rehearsal.origin import git_environment

_TIMEOUT = 120


def _checkout(call: Call) -> Mapping[str, str]:
    call.allow("contents")
    if call.inputs["repository"] not in ("", call.repository):
        raise FailedError(f"only {call.repository} can be checked out here, not {call.inputs['repository']}")
    for name in ("ssh-key", "filter", "sparse-checkout", "github-server-url"):
        if call.inputs[name]:
            raise FailedError(f"the input {name!r} of actions/checkout is not played")
    wanted = call.inputs["ref"] or call.event.sha
    _refuse_fork(call, wanted)
    folder = call.path(call.inputs["path"] or ".")
    if call.machine.workspace not in (folder, *folder.parents):
        raise FailedError(f"the path {call.inputs['path']!r} is not below the workspace")
    if not (folder / ".git").exists():
        _empty(call, folder)
        _git(call, folder, "init", "--quiet", "--initial-branch", "main")
        _git(call, folder, "remote", "add", "origin", f"https://github.com/{call.repository}")
    if call.flag("persist-credentials"):
        # What a runner keeps as a header, which opens the way to push as far as the token permits.
        _git(call, folder, "config", "remote.origin.pushurl", f"file://{call.origin.folder}")
    depth = int(call.inputs["fetch-depth"])
    target = _fetch(call, folder, wanted, depth)
    branch = wanted.removeprefix("refs/heads/")
    if target.startswith("refs/remotes/origin/"):
        _git(call, folder, "checkout", "--quiet", "--force", "-B", branch, target)
    else:
        _git(call, folder, "checkout", "--quiet", "--force", "--detach", target)
    commit = _git(call, folder, "rev-parse", "HEAD").strip()
    call.say(f"{branch} is {commit}, {'with its history' if depth == 0 else f'{depth} commit(s) deep'}")
    return {"ref": call.inputs["ref"] or call.event.ref, "commit": commit}


def _refuse_fork(call: Call, wanted: str) -> None:
    """Since version 7 a trusted workflow checks out no code of a fork unless that is said in so many words."""
    run = call.event.payload.get("workflow_run", {})
    of_fork = run.get("head_repository", {}).get("fork", False)
    theirs = wanted == call.origin.head or wanted.startswith("refs/pull/")
    if of_fork and theirs and not call.flag("allow-unsafe-pr-checkout"):
        raise FailedError(
            "this is the code of a fork in a trusted workflow: it is checked out only unsafely, when told"
        )


def _empty(call: Call, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        call.say(f"{path.name} was here before the checkout, and is removed")
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _fetch(call: Call, folder: Path, wanted: str, depth: int) -> str:
    """Get what is wanted; what to check out."""
    deep = ["--depth", str(depth)] if depth else []
    tags = [] if call.flag("fetch-tags") or depth == 0 else ["--no-tags"]
    specs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"] if depth == 0 else []
    if wanted.startswith("refs/"):
        kind, _, name = wanted.removeprefix("refs/").partition("/")
        local = f"refs/remotes/origin/{name}" if kind == "heads" else f"refs/remotes/{kind}/{name}"
        local = wanted if kind == "tags" else local
        specs, target = [*specs, f"+{wanted}:{local}"], local
    elif len(wanted) == 40 and all(sign in "0123456789abcdef" for sign in wanted):
        own = wanted == call.event.sha
        # The commit of the event gets the event's ref, any other one none.
        local = f"refs/remotes/{call.event.ref.removeprefix('refs/').replace('heads/', 'origin/', 1)}"
        specs, target = [*specs, f"+{wanted}:{local}" if own else wanted], wanted
        if own and call.event.ref.startswith("refs/heads/"):
            target = local
    else:
        for kind in ("heads", "tags"):
            if _git(call, folder, "ls-remote", "origin", f"refs/{kind}/{wanted}"):
                return _fetch(call, folder, f"refs/{kind}/{wanted}", depth)
        raise FailedError(f"a branch or a tag with the name {wanted!r} could not be found")
    if depth == 0 and target.startswith("refs/remotes/origin/"):
        # With the whole history every branch comes anyway.
        specs = specs[:2]
    _git(call, folder, "fetch", "--quiet", "--force", *tags, *deep, "origin", *dict.fromkeys(specs))
    return target


def _git(call: Call, folder: Path, *words: str) -> str:
    environment = {**git_environment(os.environ), "HOME": str(call.machine.home)}
    environment["GIT_CONFIG_GLOBAL"] = str(call.machine.home / ".gitconfig")
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False
    )
    if done.returncode:
        raise FailedError(f"git {' '.join(words[:2])}: {done.stderr.strip()}")
    return done.stdout


CHECKOUT = Played(
    outputs=("ref", "commit"),
    inputs={
        **dict.fromkeys(("repository", "ref", "token", "path", "filter", "sparse-checkout", "github-server-url"), ""),
        **dict.fromkeys(("ssh-key", "ssh-known-hosts"), ""),
        **dict.fromkeys(("persist-credentials", "clean", "sparse-checkout-cone-mode", "ssh-strict"), "true"),
        **dict.fromkeys(("show-progress", "set-safe-directory"), "true"),
        **dict.fromkeys(("fetch-tags", "lfs", "submodules", "allow-unsafe-pr-checkout"), "false"),
        "fetch-depth": "1",
        "ssh-user": "git",
    },
    do=_checkout,
)
