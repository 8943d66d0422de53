"""A repository of our own beside the caller's: it sees the same commits, and nothing that is done in it is kept.

A patch of somebody else's is applied there first, to an index alone: no file is written, so that nothing in it can
reach one. Neither the settings of the machine nor the attributes of the project change what Git reads and writes there.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stackproof.errors import UsageError
from stackproof.recordings.wording import one_line, shortened

_DEADLINE = 120.0  # seconds that one command may take
_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding\n*.json diff\n*.bin -diff\n"
_PLAIN = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
_KEPT = "GIT_CONFIG"  # settings, as of safe.directory; the other variables may lead to another repository
_ALONE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class GitError(Exception):
    """Git refused; the message is the first line of what it said, fit for a terminal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Git:
    """Git in a folder. environ: its whole environment. options: what stands before each command."""

    folder: Path
    environ: Mapping[str, str]
    options: Sequence[str] = ()

    def __call__(self, *arguments: str, given: bytes = b"") -> bytes:
        """Standard output; GitError when it ends with an error, UsageError where it is missing or hangs."""
        try:
            done = subprocess.run(
                ["git", *self.options, "-C", str(self.folder), *arguments],
                input=given,
                capture_output=True,
                timeout=_DEADLINE,
                check=False,
                env=dict(self.environ),
            )
        except FileNotFoundError:
            raise UsageError("git is not installed", hint="patches of recordings are made and applied by it") from None
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"git {arguments[0]} did not answer within {_DEADLINE:.0f} s",
                hint="another git may hold .git/index.lock: end it, or remove the file when none runs",
            ) from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise GitError(shortened(one_line(said.removeprefix("error: ").removeprefix("fatal: ")), 300))
        return done.stdout


def here(top: Path, environ: Mapping[str, str]) -> Git:
    """Git in the caller's repository. Variables that would lead it to another one are left out."""
    options = ("--literal-pathspecs", "-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no")
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    return Git(folder=top, environ={**kept, **_PLAIN}, options=options)


@contextlib.contextmanager
def beside(top: Path, commit: str, environ: Mapping[str, str]) -> Iterator[Git]:
    """A repository that has the objects of the one at `top`, and `commit` in its index. It is gone afterwards."""
    own = here(top, environ)
    objects = os.fsdecode(own("rev-parse", "--path-format=absolute", "--git-path", "objects")).rstrip("\n")
    form = own("rev-parse", "--show-object-format").decode().strip()
    with tempfile.TemporaryDirectory(prefix="stackproof-patch-") as scratch:
        alone = {name: value for name, value in own.environ.items() if not name.startswith(_KEPT)}
        made = Git(folder=Path(scratch), environ={**alone, **_ALONE}, options=("--literal-pathspecs",))
        made("init", "-q", "--template=", f"--object-format={form}")
        inside = Path(scratch, ".git")
        for name, text in (("objects/info/alternates", f"{objects}\n"), ("info/attributes", _ATTRIBUTES)):
            (inside / name).parent.mkdir(parents=True, exist_ok=True)
            (inside / name).write_bytes(os.fsencode(text))
        made("read-tree", commit)
        yield made
