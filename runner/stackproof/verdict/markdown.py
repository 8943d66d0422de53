"""The verdict as Markdown, for a file and for the page of a CI run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackproof.plaintext import counted, plain, shortened
from stackproof.verdict.current import short
from stackproof.verdict.records import Rule, State, Verdict
from stackproof.verdict.terminal import mark, tally

SUMMARY_LIMIT = 1 << 20  # GitHub drops a step's summary that is larger, all of it
_LONGEST = 2000  # characters of one finding where there is a limit
_ROOM_FOR_THE_CUT = 400


def to_markdown(verdict: Verdict, *, limit: int | None = None, of: str = "Release verdict") -> str:
    """What `verdict.md` holds, and what goes to the CI summary. of: what the heading calls it.

    limit: bytes of UTF-8 that it may take. Kept is first the table of rules, then the findings of rules that failed,
    of those that are not proven, and of the green ones; the end says what was left out and where all of it is.
    """
    head, blocks = _head(verdict, of), [_block(rule) for rule in verdict.rules]
    whole = "\n".join([*head, *(line for block in blocks for line in block)])
    if limit is None or len(whole.encode(errors="backslashreplace")) <= limit:
        return whole
    return _cut(verdict, limit, of)


def _head(verdict: Verdict, of: str) -> list[str]:
    dirty = " with changes that are not committed" if verdict.dirty else ""
    about = f"Commit {short(verdict.commit)}{dirty}, run {verdict.run_id or 'unknown'}, as of {verdict.as_of}."
    rows = [
        f"# {of}: {verdict.state.value}",
        "",
        f"{about} {tally(verdict)}",
        "",
        *([f"It took {took}.", ""] if verdict.times.clocks > 1 and (took := verdict.times.words()) else []),
        "| | rule | found |",
        "|---|---|---|",
        *(f"| {mark(rule)} | {cell(rule.title)} | {cell(rule.summary)} |" for rule in verdict.shown),
        "",
    ]
    if verdict.again:
        commands = [" ".join(plain(command).split()) for command in verdict.again]
        fence = "`" * max(3, 1 + max((len(run) for line in commands for run in re.findall("`+", line)), default=0))
        rows += ["Again:", "", fence, *commands, fence, ""]
    return [*rows, "## Rule by rule", ""]


def _block(rule: Rule) -> list[str]:
    return [*_above(rule), *_findings(rule), *_below(rule)]


def _above(rule: Rule) -> list[str]:
    return [f"### {inline(rule.title)}: {rule.state.value}", ""]


def _findings(rule: Rule) -> list[str]:
    return [
        f"- {'remark' if finding.state is State.PASS else finding.state.value.lower()}: {inline(finding.text)}"
        for finding in rule.findings
    ]


def _below(rule: Rule) -> list[str]:
    return [
        f"- proves: {inline(rule.proves)}",
        f"- excludes: {inline(rule.excludes)}",
        *([f"- evidence: {', '.join(f'`{name}`' for name in rule.evidence)}"] if rule.evidence else []),
        "",
    ]


def _cut(verdict: Verdict, limit: int, of: str) -> str:
    """Lines in the order of their use, for as long as there is room; a rule of which nothing fits is not begun."""
    room = limit - _ROOM_FOR_THE_CUT
    kept: list[str] = []
    left_out = 0
    full = False
    for line in _by_use(verdict, of):
        room -= len(line.encode(errors="backslashreplace")) + 1
        full = full or room < 0
        if full:
            left_out += bool(line)
        else:
            kept.append(line)
    said = f"Cut to {limit} bytes: {counted(left_out, 'line')} left out. All of it is in verdict.md of the run folder."
    return "\n".join([*kept, "", said, ""])


def _by_use(verdict: Verdict, of: str) -> Iterator[str]:
    for line in _head(verdict, of):
        yield shortened(line, _LONGEST)
    worst_first = sorted(verdict.rules, key=lambda rule: (-rule.counted.severity, -rule.state.severity))
    # What a rule means is said before its findings, which may be more than there is room for.
    for rule in worst_first:
        yield from _above(rule)
        yield from (shortened(line, _LONGEST) for line in [*_below(rule)[:-1], *_findings(rule)])
        yield ""


_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", **{character: f"\\{character}" for character in "\\`*_[]#~$"}}
_SPECIAL = str.maketrans(_ESCAPED)


def inline(text: str) -> str:
    """Text from tests and files as one line that Markdown and HTML leave alone."""
    return " ".join(plain(text).split()).translate(_SPECIAL)


def cell(text: str) -> str:
    """As `inline`, for a cell of a table."""
    return inline(text).replace("|", "\\|")
