"""`stackproof recordings rekey --run`: which requests differ since an SDK changed, and what was accepted of it."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stackproof import console
from stackproof.cli.listing import print_json
from stackproof.cli.recordings_words import Room
from stackproof.errors import ExitCode, UsageError
from stackproof.recorder.miss import ABSENT
from stackproof.recorder.recording import Recording
from stackproof.recordings import carrying, observed
from stackproof.recordings.query import Query
from stackproof.recordings.relocating import Move, Plan, settle
from stackproof.recordings.resending import Resending, Resent, chosen, fits, resending
from stackproof.recordings.wording import counted, value
from stackproof.suggest import did_you_mean

_SHOWN_CHARACTERS = 40


def resend(where: Room, asked: Query, run: str, *, accept: tuple[str, ...], dry_run: bool, as_json: bool) -> ExitCode:
    """Re-key what was accepted, and say what else differs."""
    cells = chosen(observed.read(where.project, where.root), run)
    root = where.catalog.integration_root
    found = resending(cells, where.root, asked, root)
    _refuse_unknown(found, accept)
    taken = [pair for pair in found.pairs if pair.is_accepted(accept)]
    by_source = {move.source: (move, pair) for pair in taken for move in pair.moves(root)}

    def form(move: Move, content: Recording) -> Recording:
        return by_source[move.source][1].content(content)

    plan = settle(where.root, "rekey", [move for move, _ in by_source.values()], form)
    if plan.moves and not dry_run:
        carrying.carry_out(where.root, plan, form)
    left = [pair for pair in found.pairs if pair not in taken]
    if as_json:
        print_json({"schema": 1, "run": found.run, "dry_run": dry_run, **_facts(found, plan, accept)})
    else:
        for line in (*_lines(found, left, run, accept), _summary(plan, left, dry_run)):
            console.told(line)
    return ExitCode.RECORDINGS if left or found.hidden or found.alone else ExitCode.PASS


def _refuse_unknown(found: Resending, accept: Sequence[str]) -> None:
    paths = {path for pair in found.pairs for path in pair.differing}
    for pattern in accept:
        if paths and not any(fits(path, pattern) for path in paths):
            raise UsageError(
                f"--accept: no request of run {found.run} differs in {pattern}{did_you_mean(pattern, paths)}",
                hint=f"they differ in {', '.join(sorted(paths))}",
            )


def _lines(found: Resending, left: Sequence[Resent], run: str, accept: Sequence[str]) -> Iterator[str]:
    differing = _by_path(left)
    if differing:
        files = counted(sum(len(pair.files) for pair in left), "file")
        yield f"what run {found.run} missed comes near {files} that it did not use; the requests differ in"
        width = max(map(len, differing))
        for path, (count, values) in differing.items():
            mark = "accepted" if any(fits(path, pattern) for pattern in accept) else ""
            yield f"  {path:<{width}}  {values}, {counted(count, 'file')}{f', {mark}' if mark else ''}"
        yield "accept a path where the provider would still give the same answer, and the files are re-keyed:"
        wanted = dict.fromkeys((*accept, *differing))
        yield f"  stackproof recordings rekey --run {shlex.quote(run)} " + " ".join(
            f"--accept {shlex.quote(path)}" for path in wanted
        )
    for scope in dict.fromkeys(found.hidden):
        yield f"✗ a request of {scope} holds a secret, so its key is not known: record it anew"
    for scope in dict.fromkeys(found.alone):
        yield f"✗ {scope}: nothing that is unused comes near a request that missed: record it anew"


def _by_path(pairs: Iterable[Resent]) -> dict[str, tuple[int, str]]:
    """Path → how many files differ there, and an example."""
    files: Counter[str] = Counter()
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for pair in pairs:
        for path, (old, new) in pair.differing.items():
            files[path] += len(pair.files)
            values[path][f"{_short(old)} → {_short(new)}"] = None
    return {path: (count, _examples([*values[path]])) for path, count in files.items()}


def _examples(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} (and {len(values) - 1} more like it)"


def _short(item: Any) -> str:
    return repr(item) if item is ABSENT else value(item, _SHOWN_CHARACTERS)


def _summary(plan: Plan, left: Sequence[Resent], dry_run: bool) -> str:
    waiting = sum(len(pair.files) for pair in left)
    rest = f", {waiting} {'waits' if waiting == 1 else 'wait'} for a word on what differs" if waiting else ""
    return f"Summary: {counted(len(plan.moves), 'file')} {'would be ' if dry_run else ''}re-keyed{rest}"


def _facts(found: Resending, plan: Plan, accept: Sequence[str]) -> dict[str, object]:
    return {
        "pairs": [
            {
                "setup": pair.setup,
                "scope": pair.scope,
                "files": list(pair.files),
                "accepted": pair.is_accepted(accept),
                "differing": [
                    {"path": path, **_side("recorded", old), **_side("sent", new)}
                    for path, (old, new) in pair.differing.items()
                ],
            }
            for pair in found.pairs
        ],
        "moved": [{"from": move.source, "to": move.target} for move in plan.moves],
        "hidden": found.hidden,
        "alone": found.alone,
    }


def _side(name: str, item: Any) -> dict[str, Any]:
    return {} if item is ABSENT else {name: item}
