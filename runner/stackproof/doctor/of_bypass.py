"""Clients of the project whose calls the recorder cannot see: a replay refuses them by name instead of answering."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stackproof.doctor.clients import REALTIME, UNSEEN, Unseen
from stackproof.doctor.finding import Finding, odd, ok, some
from stackproof.doctor.place import Place
from stackproof.doctor.sources import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class BypassFacts:
    """imported: clients with the places that import them. realtime: the same of calls that open a WebSocket.

    installed: distributions that have one, and that no file imports. read: how many files were; whole: it was all.
    """

    imported: tuple[tuple[Unseen, tuple[str, ...]], ...] = ()
    realtime: tuple[tuple[str, tuple[str, ...]], ...] = ()
    installed: tuple[str, ...] = ()
    read: int = 0
    whole: bool = True


def look(place: Place) -> BypassFacts:
    """Read what the project's files import."""
    known = place.chosen.known
    root = known.integration_root if known is not None else "tests/integration"
    files = tuple(file for file in place.sources.files if concerns(file.name, root))
    sources = replace(place.sources, files=files)
    imported: list[tuple[Unseen, tuple[str, ...]]] = []
    taken: set[tuple[str, int]] = set()
    texts = {file.name: file.text for file in files}
    for client in UNSEEN:
        # The first that names a module has it: `google.cloud.aiplatform` is no other Google Cloud client.
        found = [
            (file, line)
            for _, file, line in sources.importing(*client.modules)
            if (file, line) not in taken and (client.sign is None or re.search(client.sign, texts[file]))
        ]
        taken.update(found)
        if found:
            imported.append((client, tuple(dict.fromkeys(f"{file}:{line}" for file, line in found))))
    names = {client.name for client, _ in imported}
    realtime = [(what, called) for call, what in REALTIME if (called := tuple(_called(call, files)))]
    installed = [
        name
        for client in UNSEEN
        if client.name not in names
        for name in client.distributions
        if place.version(name) is not None
    ]
    return BypassFacts(
        imported=tuple(imported),
        realtime=tuple(realtime),
        installed=tuple(installed),
        read=len(sources.files),
        whole=sources.whole,
    )


def judge(facts: BypassFacts) -> Iterator[Finding]:
    """Is one of them in use?"""
    for client, places in facts.imported:
        yield odd(
            "bypass.import",
            client.name,
            f"is imported in {some(places)}; what it calls by {client.way} goes past the recorder, "
            "and a replay refuses it",
            client.instead,
        )
    for what, places in facts.realtime:
        yield odd(
            "bypass.realtime",
            what,
            f"is opened in {some(places)}: a WebSocket is not recorded, and refused in a replay",
            "keep it out of the suites' tests: nothing stands in for it in a replay",
        )
    files = f"{facts.read} Python file{'' if facts.read == 1 else 's'}"
    if not facts.whole:
        yield odd(
            "bypass.unread",
            "the project",
            f"has more Python files than were read in time, {facts.read} of them",
            "`stackproof run --strict` while recording names hosts that were called past the recorder",
        )
    elif not facts.imported and not facts.realtime:
        also = f"; installed, and imported by none of them: {', '.join(facts.installed)}" if facts.installed else ""
        yield ok(
            "bypass.none",
            "bypass",
            f"{files} that may be part of a run import no client that the recorder cannot see{also}",
        )


def _called(call: str, files: Iterable[Source]) -> Iterator[str]:
    """Where a method is called on something, and not only named in a text."""
    pattern = re.compile(r"(?<=[\w)\]])" + re.escape(call))
    for file in files:
        if call in file.text and (line := file.line_of(pattern)) is not None:
            yield f"{file.name}:{line}"


def concerns(name: str, root: str) -> bool:
    """Whether a file may be part of a run: it is no test, or one of the suites, or a conftest.py above these."""
    folder, _, file = name.rpartition("/")
    if f"{folder}/".startswith(f"{root}/"):
        return True
    if file == "conftest.py":
        return f"{root}/".startswith(f"{folder}/" if folder else "")
    return not {"test", "tests"} & {*folder.split("/")} and not file.startswith("test_") and file != "noxfile.py"
