"""What changed between two states, as Markdown for a comment on a pull request.

Texts of models, names of tests and of files stand in code only, fenced by more backticks than they hold, so that
nothing in them is read as Markdown or HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from stackproof.recordings.comparing import Kind
from stackproof.recordings.pairing import Change
from stackproof.recordings.reporting import Summary, difference_lines
from stackproof.recordings.wording import counted, one_line, shortened

LENGTH = 60_000  # characters; the largest comment that GitHub takes has 65,536
_RUN = re.compile(r"`+")
_OF_ONE = 6_000  # characters of one difference
_NAMES = 10
_WORDS = {
    Kind.DRIFT: "answer changed though its request did not (drift)",
    Kind.BOTH: "request and answer changed",
    Kind.REQUEST: "request changed, same answer (re-keyed)",
    Kind.MOVED: "moved: same request and answer under another name",
    Kind.ADDED: "added",
    Kind.REMOVED: "removed",
    Kind.DAMAGED: "damaged, not compared",
    Kind.BYTES: "only bytes (dates, chunk edges, ids)",
}


_LISTED = (Kind.MOVED, Kind.ADDED, Kind.REMOVED)


def report(summary: Summary, names: tuple[str, str], *, new_models: Iterable[str], new_providers: Iterable[str]) -> str:
    """The whole comment, at most `LENGTH` characters; it says what was left out."""
    head = "\n".join(_head(summary, names, new_models, new_providers))
    pieces, length, shown = [head], len(head), 0
    told = [change for change in summary.shown if change.kind not in _LISTED]
    blocks = [("\n".join(_block(scope, changes)), len(changes)) for scope, changes in _by_test(told)]
    for kind in _LISTED:
        listed = [change for change in summary.shown if change.kind is kind]
        blocks += [("\n".join(_list(kind, part)), len(part)) for part in _batched(listed)]
    for block, number in blocks:
        if length + len(block) > LENGTH - 300:
            break
        pieces.append(block)
        length += len(block) + 2
        shown += number
    left = summary.left_out + len(summary.shown) - shown
    if left:
        pieces.append(
            f"{counted(left, 'more change')} not shown here; `--limit` shows more, up to the length of a comment."
        )
    return "\n\n".join(pieces) + "\n"


def code(text: str, width: int = 200) -> str:
    """A text as inline code."""
    text = shortened(one_line(text), width)
    fence = "`" * (_longest_run(text) + 1)
    # Spaces keep the text's own backticks apart, and one of each side is taken away by the reader.
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(lines: Iterable[str], language: str = "diff") -> str:
    """Lines as a block of code."""
    text = "\n".join(lines)
    if len(text) > _OF_ONE:
        text = text[:_OF_ONE].rsplit("\n", 1)[0] + "\n  … cut here"
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0)


def _head(
    summary: Summary, names: tuple[str, str], new_models: Iterable[str], new_providers: Iterable[str]
) -> Iterator[str]:
    changed = summary.in_meaning
    yield f"### Recordings: {f'{changed:,} changed in meaning' if changed else 'nothing changed in meaning'}"
    yield ""
    yield f"From {code(names[0])} to {code(names[1])}."
    rows = [(summary.counts[kind], words) for kind, words in _WORDS.items() if summary.counts[kind]]
    if rows:
        yield from ("", "| files | |", "|---:|---|", *(f"| {number:,} | {words} |" for number, words in rows))
    notes = [
        *_named("New models", new_models),
        *_named("New providers", new_providers),
        *(f"Server changed: {code(old)} → {code(new)} ({number:,})" for (old, new), number in summary.servers.items()),
    ]
    if summary.now_synthetic:
        notes.append(f"Answers that no real model gave: {counted(summary.now_synthetic, 'new or changed file')}")
    if summary.no_longer_synthetic:
        notes.append(f"No longer synthetic: {counted(summary.no_longer_synthetic, 'file')}")
    if notes:
        yield from ("", *(f"- {note}" for note in notes))


def _named(what: str, names: Iterable[str]) -> Iterator[str]:
    found = list(names)
    if found:
        more = f" and {len(found) - _NAMES} more" if len(found) > _NAMES else ""
        yield f"{what}: {', '.join(map(code, found[:_NAMES]))}{more}"


def _by_test(changes: Iterable[Change]) -> list[tuple[str, list[Change]]]:
    groups: dict[str, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.shown.scope or change.shown.file, []).append(change)
    return list(groups.items())


def _block(scope: str, changes: list[Change]) -> Iterator[str]:
    yield f"**{code(scope)}**"
    for change in changes:
        found = change.shown
        about = f"{found.method} {found.endpoint}  {found.model}".strip() or found.file
        summary = f"{_WORDS[change.kind]}: <code>{html.escape(one_line(about))}</code>"
        yield ""
        yield f"<details><summary>{summary}</summary>"
        yield ""
        yield fenced(_details(change))
        yield ""
        yield "</details>"


def _list(kind: Kind, changes: list[Change]) -> Iterator[str]:
    yield f"<details><summary>{counted(len(changes), 'file')} {_WORDS[kind]}</summary>"
    yield ""
    yield fenced(line for scope, group in _by_test(changes) for line in _listed(scope, group))
    yield ""
    yield "</details>"


def _listed(scope: str, changes: list[Change]) -> Iterator[str]:
    yield f"  {one_line(scope)}"
    for change in changes:
        found = change.shown
        yield from _files(change)
        yield f"      {one_line(f'{found.method} {found.endpoint}  {found.model}')}".rstrip()
        if change.gist:
            yield f"      {change.gist}"


def _batched(changes: list[Change], size: int = 20) -> Iterator[list[Change]]:
    """The changes in lists of at most `size`, so that a comment ends between two of them."""
    yield from (changes[start : start + size] for start in range(0, len(changes), size))


def _details(change: Change) -> Iterator[str]:
    yield from _files(change)
    for side in (change.before, change.after):
        if side is not None and side.damage:
            yield f"  {one_line(side.damage)}"
    if change.difference is not None:
        yield from difference_lines(change.difference)


def _files(change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    if before is not None and after is not None and before.file == after.file:
        yield f"  {one_line(after.file)}"
    else:
        yield from (f"{mark} {one_line(side.file)}" for mark, side in (("-", before), ("+", after)) if side is not None)
