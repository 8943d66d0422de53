"""What is done with each block: `table/*.yaml`, and the defaults where a block is not in there.

A page is `{in: PROJECT, blocks: [ENTRY, …]}`, or `{by: TESTS}` where it has tests of its own. An entry names its block
by `at`, what it begins with or what only it has, and says what it is (`file`, `load`), what is `typed` for its names,
or `why` it is not run. Else commands are run, and other languages parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.docs import planning
from tests.e2e.docs.blocks import PROJECT, Block, pages, read

_FOLDER = Path(__file__).parent / "table"


class Way(StrEnum):
    """What is done with a block."""

    COMPARED = "run, and its output compared"
    RUN = "run, and its exit code held"
    TYPED = "a form: every command and option of it run with names filled in"
    FILE = "a file of a project whose commands are run"
    ELSEWHERE = "run by tests of the page's own"
    LOADED = "loaded as the file of ours that it is"
    PLANNED = "not run: its runs planned with --dry-run, and what that prints compared"
    COMMANDS = "not run: its commands read by the command line's own parser"
    PARSED = "parsed"
    SAID = "its words looked for in the code that says them"
    EXCUSED = "excused"


class Why(StrEnum):
    """Why a block is not run; there is no other reason."""

    KEY = "needs a key"
    ELSEWHERE = "needs a machine, a cluster or a service of somebody else's"
    COSTLY = "takes minutes; run as a job of its own"
    INSTALLS = "changes this machine"
    FORM = "a form, with names to fill in"
    SITUATION = "shows what is said when something is wrong, which tests of that provoke"
    FOREIGN = "another tool's syntax"
    DRAWING = "a drawing of names"
    OWN = "run by tests of the page's own"


# What such a block shows without a command is what we say there.
_PROVOKED = {Why.SITUATION, Why.ELSEWHERE}


class Home(StrEnum):
    """Where the blocks of a page are run."""

    REPOSITORY = "repository"
    DESK = "desk"
    NEW_DESK = "new desk"
    SCRATCH = "scratch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A block and what is done with it.

    file: its place in the project; load: which file of ours it is; why: the reason where it is not run; by: the tests
    that run it, where those are of the page; before: shell that prepares it; after: shell that must hold then; exits:
    exit codes of its commands, one for all or one each; compare: whether its output is held to what is shown, marked:
    and of that the words behind a mark alone; needs: words of what the machine must have; beside: empty files that a
    loaded one names; typed: commands in place of its own, whose names have to be filled in; room: the page in whose
    project it is run, after all of that page; during: how the block of
    its page begins that waits for Ctrl-C while it runs.
    """

    block: Block
    file: str = ""
    load: str = ""
    why: Why | None = None
    by: str = ""
    before: str = ""
    after: str = ""
    exits: tuple[int, ...] = (0,)
    compare: bool = True
    marked: bool = False
    needs: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    room: str = ""
    during: str = ""

    @property
    def way(self) -> Way:
        """What is done with it."""
        if self.file:
            return Way.FILE
        if self.load:
            return Way.LOADED
        if self.typed and not self.block.steps():
            return Way.TYPED
        if self.why is not None and not self.typed:
            return self._not_run(self.why)
        if not self.block.is_terminal:
            return Way.PARSED
        shows = self.compare and any(step.output for step in self.block.steps())
        return Way.COMPARED if shows else Way.RUN

    def _not_run(self, why: Why) -> Way:
        if why is Why.OWN:
            return Way.ELSEWHERE
        if why in _PROVOKED and not self.block.steps() and not self.block.text.startswith("# "):
            return Way.SAID
        ours = [] if why is Why.FOREIGN else [line for line in commands(self.block) if _is_ours(line)]
        if not ours:
            return Way.EXCUSED
        return Way.PLANNED if any(planning.plan_of(line) for line in ours) else Way.COMMANDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page: where its blocks are run, each of them, and what the table says of it that is not so."""

    name: str
    home: Home
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()


def guests(page: str) -> tuple[Entry, ...]:
    """The blocks of other pages that are run in this one's project."""
    return tuple(entry for each in table().values() for entry in each.entries if entry.room == page)


def commands(block: Block) -> tuple[str, ...]:
    """The command lines of a block that is not run: those behind a prompt, or lines that begin like ours."""
    if steps := block.steps():
        return tuple(step.command for step in steps)
    if not block.is_terminal:
        return ()
    joined = block.text.replace("\\\n", " ")
    return tuple(line for line in joined.splitlines() if _is_ours(line))


def _is_ours(line: str) -> bool:
    words = [word for word in line.split() if "=" not in word]
    return words[:1] in (["stackproof"], ["nox"]) or line.startswith("python -m ")


@cache
def table() -> Mapping[str, Page]:
    """Every page with its blocks, and what of the table is not so."""
    said: dict[str, Any] = {}
    problems: dict[str, list[str]] = {}
    for path in sorted(_FOLDER.glob("*.yaml")):
        for name, page in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            if name in said:
                problems.setdefault(name, []).append(f"{path.name}: {name} has been described already")
            said[name] = page
    return {name: _page(name, said.get(name, {}), problems.get(name, [])) for name in [*pages(), *_gone(said)]}


def _gone(said: Mapping[str, Any]) -> list[str]:
    return sorted(said.keys() - set(pages()))


def _page(name: str, said: Mapping[str, Any], problems: list[str]) -> Page:
    if not (PROJECT / name).is_file():
        return Page(name=name, home=Home.SCRATCH, entries=(), problems=(f"no such page: {name}",))
    blocks = read(name)
    whole = {"why": "own", "by": said["by"]} if "by" in said else {}
    by_line: dict[int, Mapping[str, Any]] = {}
    problems += [f"{name}: {key} is no key of a page" for key in said.keys() - {"in", "by", "blocks"}]
    if not (PROJECT / said.get("by", ".")).exists():
        problems.append(f"{name}: there is no {said['by']}")
    for entry in said.get("blocks", ()):
        words = entry["at"]
        begins = [block for block in blocks if block.text.startswith(words)]
        has = begins if len(begins) == 1 else [block for block in blocks if words in block.text]
        problems += [f"{name}: {key} is no key of an entry" for key in entry.keys() - _KEYS]
        if not (PROJECT / entry.get("by", ".")).exists():
            problems.append(f"{name}: there is no {entry['by']}")
        if len(has) != 1:
            problems.append(f"{name}: {len(has)} blocks begin with {words!r} or have it")
        elif by_line.setdefault(has[0].line, entry) is not entry:
            problems.append(f"{has[0].place} has two entries in the table")
    problems += [
        f"{block.place} has no command and no entry in the table: begin commands with `$ `, or say why it is not run"
        for block in blocks
        if not whole and block.line not in by_line and block.is_terminal and not block.steps()
    ]
    entries = tuple(_entry(block, by_line.get(block.line, whole)) for block in blocks)
    problems += [
        f"{entry.block.place} has an entry in the table, and no command that could be run"
        for entry in entries
        if entry.way is Way.RUN and not entry.block.steps() and entry.block.line in by_line
    ]
    return Page(name=name, home=Home(said.get("in", "repository")), entries=entries, problems=tuple(problems))


_KEYS = {"at", "by", "file", "load", "why", "before", "after", "exits", "compare", "needs", "environ", "beside"}
_KEYS |= {"typed", "room", "during"}


def _entry(block: Block, said: Mapping[str, Any]) -> Entry:
    typed = said.get("typed", ())
    codes = [each[1] if isinstance(each, list) else 0 for each in typed]
    exits = said.get("exits", codes or 0)
    return Entry(
        block=block,
        file=said.get("file", ""),
        load=said.get("load", ""),
        why=Why[said["why"].upper()] if "why" in said else Why.OWN if "by" in said else None,
        by=said.get("by", ""),
        before=said.get("before", ""),
        after=said.get("after", ""),
        exits=tuple(exits) if isinstance(exits, list) else (exits,),
        compare=bool(said.get("compare", True)),
        marked=said.get("compare") == "marked words",
        needs=tuple(_words(said.get("needs", ""))),
        environ={name: str(value) for name, value in said.get("environ", {}).items()},
        beside=tuple(_words(said.get("beside", ""))),
        typed=tuple(each[0] if isinstance(each, list) else each for each in typed),
        room=said.get("room", ""),
        during=said.get("during", ""),
    )


def _words(text: str) -> Iterator[str]:
    yield from text.split()
