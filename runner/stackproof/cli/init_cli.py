"""The command `stackproof init`: look, ask little, show, write."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from stackproof import catalog, console
from stackproof.adopting import drafting, here, looking, nexts, placing, telling
from stackproof.adopting import wishes as wishing
from stackproof.adopting.drafting import Drafted
from stackproof.adopting.found import CiSystem, Found, Framework
from stackproof.adopting.wishes import Wishes
from stackproof.catalog.records import SetupSpec
from stackproof.catalog.setups import load_setups
from stackproof.cli import completing
from stackproof.cli.cli_words import json_option
from stackproof.cli.listing import print_json
from stackproof.cli.surroundings import Surroundings
from stackproof.errors import ExitCode, UsageError
from stackproof.plaintext import counted
from stackproof.suggest import unknown

_CI = [each.value for each in CiSystem]
_ASIDE = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What is shown, and written where it is wanted. kept: paths of drafts that are there already."""

    root: Path
    found: Found
    wishes: Wishes
    drafted: Drafted
    kept: tuple[str, ...]

    @property
    def new(self) -> tuple[str, ...]:
        """Paths of the files that would be written."""
        return tuple(draft.path for draft in self.drafted.drafts if draft.path not in self.kept)

    @property
    def others(self) -> tuple[str, ...]:
        """Paths of those that are there and say something else."""
        texts = {draft.path: draft.text for draft in self.drafted.drafts}
        return tuple(path for path in self.kept if not placing.says(self.root, path, texts[path]))

    def steps(self) -> tuple[nexts.Step, ...]:
        """What to type next."""
        git = self.found.subfolder is not None
        changes = here.uncommitted(self.root) if git else here.everything(self.root)
        ours = {draft.path for draft in self.drafted.drafts}
        others = [path for path in changes if not any(each == path or each.startswith(path) for each in ours)]
        left_out = [each for each in others if _left_out(self.root, each)]
        if drafting.GITIGNORE in self.new:
            left_out = [each for each in left_out if each not in drafting.IGNORED]
        elif not self.found.ignores and self.found.framework is not Framework.NODE:
            left_out.append(drafting.IGNORED[0])
        return nexts.steps(
            self.found,
            self.wishes,
            self.drafted,
            nexts.Here(
                missing=here.missing(self.found, self.drafted),
                dotenv=(self.root / ".env").is_file(),
                git=git,
                lock=(self.root / "package-lock.json").is_file(),
                uncommitted=tuple(each for each in others if not _left_out(self.root, each)),
                left_out=tuple(left_out),
            ),
        )


@click.command("init")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing, take what is proposed, and write it.")
@click.option("--dry-run", is_flag=True, help="Show the files and write none.")
@click.option("--name", metavar="NAME", help="What the stack and the suite are called. Default: the project's name.")
@click.option("--app", metavar="MODULE:NAME", help="The application, or a function that makes it; none: a library.")
@click.option(
    "--setup",
    metavar="NAME",
    help="Whom it calls, from `stackproof setups`. Default: what the code calls.",
    shell_complete=completing.setup,
)
@click.option("--ci", metavar="|".join(_CI), type=click.Choice(_CI), help="Whose workflow. Default: what is used here.")
@click.option("--requirement", metavar="TEXT", help="What nox and CI install Stackproof by, as pip takes it.")
@click.option("--beside", is_flag=True, help="Put the draft of a file that is there next to it, as FILE.new.")
@json_option
@click.pass_obj
def init(
    around: Surroundings,
    *,
    yes: bool,
    dry_run: bool,
    name: str | None,
    app: str | None,
    setup: str | None,
    ci: str | None,
    requirement: str | None,
    beside: bool,
    as_json: bool,
) -> int:
    """Put the project in this folder under test.

    It reads the files that are there, runs none of them, asks little, and writes a stack, a suite with a first test, a
    release policy, sessions for nox and a workflow. No file that is there is changed. Where nothing can be asked, since
    there is no terminal, it shows all of it and writes nothing, unless --yes is given.
    """
    if yes and dry_run:
        raise UsageError(
            "--yes and --dry-run exclude each other: one writes, and the other does not", hint="leave one of them out"
        )
    root = around.project.absolute()
    found, setups = looking.look(root), _setups()
    wishes = _wishes(found, setups, name=name, app=app, setup=setup, ci=ci, requirement=requirement)
    talks = not (yes or dry_run or as_json) and sys.stdin.isatty() and sys.stdout.isatty()
    if talks:
        wishes = _asked(found, wishes, name=name, app=app, ci=ci)
    proposal = _propose(root, found, wishes, setups)
    if as_json:
        facts = _facts(proposal, written=yes)
        if yes:
            placing.place(root, proposal.drafted.drafts, beside=beside)
        print_json(facts)
        return ExitCode.PASS
    console.out(f"stackproof init · {wishes.name}")
    _print(telling.found(found, wishes, proposal.drafted))
    _print(telling.notes(proposal.drafted))
    if talks:
        _print(telling.files(proposal.drafted, proposal.kept, would=True))
        console.out("")
        if not click.confirm("Write these files?", default=True):
            console.out("Nothing was written.")
            return ExitCode.PASS
    if yes or talks:
        _write(proposal, beside=beside, shown=talks)
    else:
        _print(telling.files(proposal.drafted, proposal.kept, would=True))
        _print(telling.contents(proposal.drafted, proposal.new))
    if proposal.others and not beside:
        _print(["", "What would have been in those that are there and other:"])
        _print(telling.contents(proposal.drafted, proposal.others))
    _print(telling.pieces(proposal.drafted))
    _print(telling.steps(proposal.steps()))
    if not (yes or talks):
        why = "--dry-run" if dry_run else "there is no terminal to ask at"
        _print(["", f"Nothing was written ({why}). To write it: stackproof init --yes"])
    return ExitCode.PASS


def _wishes(
    found: Found,
    setups: Mapping[str, SetupSpec],
    *,
    name: str | None,
    app: str | None,
    setup: str | None,
    ci: str | None,
    requirement: str | None,
) -> Wishes:
    wishes = wishing.usual(found, requirement or here.requirement())
    if name is not None:
        wishes = wishing.with_name(wishes, found, name)
    if app is not None:
        wishes = wishing.with_app(wishes, found, app)
    if setup is not None and setup not in setups:
        raise unknown("setup", setup, setups, where="--setup")
    return wishing.chosen(wishes, setup=setup, ci=ci)


def _asked(found: Found, wishes: Wishes, *, name: str | None, app: str | None, ci: str | None) -> Wishes:
    """What only a person can know; whoever gave an option is not asked for it."""
    if name is None:
        wishes = wishing.with_name(wishes, found, click.prompt("Name of the stack", default=wishes.name))
    if app is None and len(found.apps) > 1:
        for each in found.apps[:_ASIDE]:
            console.out(f"  {each.place}  {each.framework} ({each.path})")
        wishes = wishing.with_app(wishes, found, click.prompt("Application", default=found.apps[0].place))
    if ci is None and not found.ci:
        told = click.prompt("CI", type=click.Choice(_CI), default=CiSystem.NONE.value)
        wishes = wishing.chosen(wishes, setup=wishes.setup, ci=told)
    return wishes


def _propose(root: Path, found: Found, wishes: Wishes, setups: Mapping[str, SetupSpec]) -> Proposal:
    drafted = drafting.draft(found, wishes, setups, python=f"{sys.version_info.major}.{sys.version_info.minor}")
    kept = tuple(draft.path for draft in drafted.drafts if placing.there(root, draft.path))
    return Proposal(root=root, found=found, wishes=wishes, drafted=drafted, kept=kept)


def _write(proposal: Proposal, *, beside: bool, shown: bool) -> None:
    placed = placing.place(proposal.root, proposal.drafted.drafts, beside=beside)
    if shown:
        _print(["", f"{counted(len(placed.written), 'file')} written"])
    else:
        _print(telling.files(proposal.drafted, proposal.kept, would=False))
    aside = [path for path in placed.written if path.endswith(placing.BESIDE)]
    if aside:
        _print(["", "Beside them", *(f"  + {path}" for path in aside)])


def _setups() -> dict[str, SetupSpec]:
    """The built-in ones: what a project has of its own may be what init is there to mend."""
    return load_setups(catalog.builtin_folder() / "setups.yaml", shown="setups.yaml")


def _left_out(root: Path, path: str) -> bool:
    return here.is_secret(path) or here.is_environment(root, path)


def _facts(proposal: Proposal, *, written: bool) -> dict[str, Any]:
    found, wishes, drafted = proposal.found, proposal.wishes, proposal.drafted
    return {
        "schema": 1,
        "name": wishes.name,
        "app": None if wishes.app is None else wishes.app.place,
        "framework": found.framework.value,
        "providers": list(dict.fromkeys(client.provider for client in found.clients)),
        "setup": drafted.setup.name,
        "secrets": list(drafted.setup.secrets),
        "ci": wishes.ci.value,
        "stack_config": drafted.cell,
        "first_test": {
            "file": f"{wishes.tests}/{drafted.test.file}",
            "asks": drafted.test.asks,
            "calls": drafted.test.calls,
        },
        "written": written,
        "files": [
            {"path": draft.path, "state": "kept" if draft.path in proposal.kept else "new", "text": draft.text}
            for draft in drafted.drafts
        ],
        "pieces": [asdict(piece) for piece in drafted.pieces],
        "notes": list(drafted.notes),
        "next": [asdict(step) for step in proposal.steps()],
    }


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        console.out(line)
