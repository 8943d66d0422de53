"""Everything that the jobs of a rehearsal share."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ci.rehearsal import fake_gh
from ci.rehearsal.artifacts import Store
from ci.rehearsal.events import FORK, Event, pull_request
from ci.rehearsal.fake_gh import Place as GhPlace
from ci.rehearsal.machine import TRACKING, Machine
from ci.rehearsal.masks import Masks
from ci.rehearsal.model import Workflow
from ci.rehearsal.order import Order
from ci.rehearsal.origin import Origin
from ci.rehearsal.problems import Found

from stackproof.errors import UsageError
from stackproof.stack.lifetime import end_marked

_FIRST_RUN = 1001
_GRACE = 3.0  # seconds between a request to end and the end
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(kw_only=True, slots=True)
class Stage:
    """folder: scratch, removed afterwards. now: the time of all runs, such as 2026-11-30T03:36:58Z.

    around: this machine's own variables. pythons: where versions of Python lie.
    """

    order: Order
    origin: Origin
    folder: Path
    around: Mapping[str, str]
    pythons: Path
    say: Callable[[str], None]
    now: str
    found: Found = field(default_factory=Found)
    masks: Masks = field(default_factory=Masks)
    absent_secrets: set[str] = field(default_factory=set)
    _machines: int = 0
    _runs: int = 0

    def __post_init__(self) -> None:
        for value in (*self.order.secrets.values(), fake_gh.TOKEN):
            self.masks.add(value)
        said = self.say
        self.say = lambda text: said(self.shown(text))
        self.gh.state.mkdir()
        hosts = self.folder / "hosts"
        for name in (self.order.repository, FORK):
            (hosts / name).parent.mkdir(parents=True, exist_ok=True)
            for path in (hosts / name, hosts / f"{name}.git"):
                path.symlink_to(self.origin.folder)
        (self.gh.state / "pulls.json").write_text(json.dumps([pull_request(self.order, self.origin)]))

    @property
    def store(self) -> Store:
        """Artifacts of all runs."""
        return Store(folder=self.folder / "artifacts")

    @property
    def gh(self) -> GhPlace:
        """What the stand-in for gh keeps."""
        return GhPlace(state=self.folder / "gh", artifacts=self.folder / "artifacts")

    @property
    def no_push(self) -> str:
        """Where a push without credentials goes, and fails."""
        return f"file://{self.folder}/no-credentials-to-push-to/"

    def shown(self, text: str) -> str:
        """Text as it may be printed: without secrets, and without what moves a cursor or colours the rest."""
        return _CONTROL.sub("", self.masks.hide(text))

    def next_run(self) -> int:
        """The id of a run that starts."""
        self._runs += 1
        return _FIRST_RUN + self._runs - 1

    def end_run(self, workflow: Workflow, event: Event, number: int, conclusion: str) -> None:
        """Let `gh run list` see a run, the newest first."""
        state = fake_gh.State(self.gh)
        one = {
            "databaseId": number,
            "workflowName": workflow.name,
            "file": workflow.file,
            # Of a pull request the branch that it comes from, also where that is a fork's.
            "headBranch": event.head_ref or event.ref_name,
            "headSha": event.sha,
            "event": event.name,
            "status": "completed",
            "conclusion": conclusion,
            "url": f"https://github.com/{self.order.repository}/actions/runs/{number}",
            "createdAt": self.now,
        }
        state.save("runs", [one, *state.load("runs")])

    def earlier(self) -> None:
        """Let runs be found that were there before, with the artifacts that are given for them."""
        state = fake_gh.State(self.gh)
        for file in self.order.earlier:
            number = self.next_run()
            self.give(file, number)
            one = {"databaseId": number, "workflowName": file, "file": file, "headBranch": "main", "event": "schedule"}
            over = {
                "headSha": self.origin.commit,
                "status": "completed",
                "conclusion": "success",
                "createdAt": self.now,
            }
            state.save("runs", [{**one, **over}, *state.load("runs")])

    def give(self, file: str, number: int) -> None:
        """Let a run have the artifacts that are given for its workflow. Raises UsageError."""
        folder = self.order.earlier[file]
        if not folder.is_dir():
            raise UsageError(f"--earlier {file}: {folder.name} is no folder")
        shutil.copytree(folder, self.folder / "artifacts" / str(number))

    def machine(self) -> Machine:
        """A fresh machine; whoever takes it ends it."""
        self._machines += 1
        machine = Machine(
            folder=self.folder / f"machine-{self._machines}",
            repository=self.order.repository,
            around=self.around,
            given=self.order.machine,
        )
        machine.make(self._git_config(), self.gh)
        return machine

    def end(self, machine: Machine) -> None:
        """End what a job has left running."""
        end_marked(f"{TRACKING}={machine.tracking}", grace=_GRACE)

    def _git_config(self) -> str:
        host = f"file://{self.folder / 'hosts'}/"
        return (
            f'[url "{host}"]\n\tinsteadOf = https://github.com/\n'
            f"\tinsteadOf = https://x-access-token:{fake_gh.TOKEN}@github.com/\n"
            f'[url "{self.no_push}"]\n\tpushInsteadOf = https://github.com/\n'
            "[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n"
        )
