"""What `stackproof init` says: what it found, what it writes, what it could not tell, what to type next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from stackproof.adopting.drafting import Drafted
from stackproof.adopting.found import CiSystem, Found, Framework
from stackproof.adopting.nexts import Step
from stackproof.adopting.wishes import Wishes

WIDTH = 80
_CI = {CiSystem.GITHUB: "GitHub Actions", CiSystem.GITLAB: "GitLab", CiSystem.NONE: "none"}


def found(found: Found, wishes: Wishes, drafted: Drafted) -> Iterator[str]:
    """A line for each thing that was looked for."""
    yield f"{found.python_files} Python file{'s' if found.python_files != 1 else ''} read, none of them run"
    rows = [
        ("application", _application(found, wishes)),
        ("calls", _calls(found)),
        ("setup", _setup(drafted)),
        ("first test", drafted.test.asks + (", which calls a model" if drafted.test.calls else "")),
        ("tests", _tests(found)),
        ("packages", _packages(found)),
        (
            "CI",
            _CI[wishes.ci] + ("" if wishes.ci is not CiSystem.NONE else " (--ci github or gitlab writes a workflow)"),
        ),
    ]
    for name, text in rows:
        if text:
            yield from _wrapped(f"  {name:<12}", text)


def notes(drafted: Drafted) -> Iterator[str]:
    """What could not be told."""
    if drafted.notes:
        yield ""
        yield "To look at"
        for note in drafted.notes:
            yield from _wrapped("  - ", note)


def files(drafted: Drafted, kept: Iterable[str], *, would: bool) -> Iterator[str]:
    """Every file, with what it is for; `+` for new ones, `=` for those that are there."""
    kept = set(kept)
    yield ""
    new = [draft for draft in drafted.drafts if draft.path not in kept]
    yield ("Would write" if would else "Written") + ("" if new else ": nothing, all of it is there")
    fitting = [len(draft.path) for draft in new if len(draft.path) + len(draft.what) + 6 <= WIDTH]
    widest = max(fitting, default=0)
    for draft in drafted.drafts:
        if draft.path not in kept:
            yield _columns("  + ", draft.path, draft.what, widest)
    if kept:
        yield ""
        yield "There already, and kept as they are"
        for draft in drafted.drafts:
            if draft.path in kept:
                yield f"  = {draft.path}"


def contents(drafted: Drafted, paths: Iterable[str]) -> Iterator[str]:
    """The files themselves."""
    wanted = set(paths)
    for draft in drafted.drafts:
        if draft.path in wanted:
            yield ""
            yield f"--- {draft.path}"
            yield from draft.text.rstrip("\n").split("\n")


def pieces(drafted: Drafted) -> Iterator[str]:
    """What belongs into files that are somebody's own."""
    for piece in drafted.pieces:
        yield ""
        head = f"To put into {piece.where}" if piece.new else f"To add to {piece.where}, which is yours"
        yield from _wrapped("", f"{head}: {piece.what}")
        yield ""
        yield from (f"    {line}".rstrip() for line in piece.text.rstrip("\n").split("\n"))


def steps(steps: Iterable[Step]) -> Iterator[str]:
    """What to type next, numbered; another way to do the same has no number."""
    yield ""
    yield "Next"
    number = 0
    for step in steps:
        number += not step.instead
        yield f"  {'  ' if step.instead else f'{number}.'} {step.says}:"
        yield from (f"       {command}" for command in step.commands)


def _application(found: Found, wishes: Wishes) -> str:
    app = wishes.app
    if app is None:
        if found.framework is Framework.NODE and found.node is not None:
            return f"Node.js{f', {found.node.framework}' if found.node.framework else ''} (package.json)"
        return "none: a library, which tests import and call"
    how = "made by a function" if app.factory else "made when it is imported"
    return f"{app.place}, {app.framework}, {how} ({app.path})"


def _calls(found: Found) -> str:
    providers = dict.fromkeys(client.provider for client in found.clients)
    if not providers:
        return "no SDK that is known"
    ways: dict[str, str] = {}
    for client in found.clients:
        ways.setdefault(client.provider, client.sdk)
    told = [name if ways[name] == name else f"{name} through {ways[name]}" for name in providers]
    return ", ".join(told)


def _setup(drafted: Drafted) -> str:
    setup = drafted.setup
    keys = f"; keys: {', '.join(setup.secrets)}" if setup.secrets else "; no key"
    if setup.written is None:
        return f"{setup.name}, built in{keys}"
    combines = setup.written.get("combines")
    made = f"made of {' and '.join(map(str, combines))}" if isinstance(combines, list) else "of its own"
    return f"{setup.name}, {made}{keys}"


def _tests(found: Found) -> str:
    if not found.test_paths:
        return "none yet"
    count = len(found.test_paths)
    where = f"; pytest's configuration is in {found.pytest}" if found.pytest else ""
    return f"{count} file{'s' if count != 1 else ''} in {found.tests}{where}"


def _packages(found: Found) -> str:
    if found.framework is Framework.NODE:
        return "npm"
    sources = [*found.requirements, *(["the project itself"] if found.installable else [])]
    python = f"; Python {found.python}" if found.python else ""
    return f"{found.manager}{f' ({chr(44).join(sources)})' if sources else ''}{python}".replace(",", ", ")


def _columns(mark: str, path: str, what: str, widest: int) -> str:
    line = f"{mark}{path:<{widest}}  {what}"
    return line if len(line) <= WIDTH else f"{mark}{path}\n{' ' * (len(mark) + 4)}{what}"


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
