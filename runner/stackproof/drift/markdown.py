"""What a comparison found, as Markdown for an issue or a comment.

Texts of models, names of tests and of files stand in code only, as in `recordings.markdown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackproof.drift import telling
from stackproof.drift.telling import Group
from stackproof.evidence.drift import DriftFacts, LonelyEntry
from stackproof.plaintext import counted
from stackproof.recordings.markdown import LENGTH, code, fenced

_TESTS = 5
_COMMANDS = 10


def report(cells: Sequence[tuple[str, DriftFacts]], *, run: str) -> str:
    """The whole text, at most `LENGTH` characters; it says what was left out. cells: title and facts."""
    pieces, length = [f"### Drift: {_sum(cells)}\n\nRun {code(run)}."], 0
    left = 0
    for title, facts in cells:
        for block in _cell(title, facts):
            if left or length + len(block) > LENGTH - 500:
                left += 1
                continue
            pieces.append(block)
            length += len(block) + 2
    if left:
        pieces.append(f"{counted(left, 'more paragraph')} not shown here; `stackproof drift --all` shows everything.")
    return "\n\n".join(pieces) + "\n"


def _sum(cells: Sequence[tuple[str, DriftFacts]]) -> str:
    compared = sum(facts.compared for _, facts in cells)
    numbers = {name: sum(getattr(facts, name) for _, facts in cells) for name in ("breaking", "additive", "note")}
    if not any(numbers.values()):
        return f"none in {counted(compared, 'answer')}"
    total = DriftFacts(compared=compared, **numbers)
    return f"{telling.told(total)} in {counted(compared, 'answer')}"


def _cell(title: str, facts: DriftFacts) -> Iterator[str]:
    yield f"**{code(title)}**: {telling.headline(facts).removeprefix('drift: ')}"
    yield from map(_group, telling.groups(facts.differences))
    if facts.left_out:
        yield f"{counted(facts.left_out, 'more difference')}, for which `drift.json` has no room."
    for what, number, entries in (
        ("Calls without a recording of their test", facts.unrecorded, facts.unrecorded_calls),
        ("Recordings that were not asked for", facts.not_asked, facts.not_asked_calls),
        ("Calls that the provider refused", facts.refused, facts.refused_calls),
    ):
        if number:
            yield "\n".join(_alone(f"{what}: {number:,}", entries))
    commands = list(dict.fromkeys(entry.again for entry in facts.differences if entry.severity != "note"))
    if commands:
        more = [f"# and {counted(len(commands) - _COMMANDS, 'more test')}"] if len(commands) > _COMMANDS else []
        yield "Record anew:\n\n" + fenced([*commands[:_COMMANDS], *more], "sh")


def _group(group: Group) -> str:
    first = group.first
    recorded, observed = (code(side) if side else "nothing" for side in (first.recorded, first.observed))
    tests = list(dict.fromkeys(entry.test for entry in group.entries))
    more = f" and {len(tests) - _TESTS} more" if len(tests) > _TESTS else ""
    asked = f"{first.provider} {first.asked}".strip()
    kind = first.kind.replace("-", " ") if first.kind.replace("-", "").isalpha() else code(first.kind)
    return "\n".join(
        (
            f"- **{first.severity}** {kind} {code(first.where)} in {counted(group.answers, 'answer')} of {code(asked)}",
            f"  - recorded {recorded}, observed {observed}",
            f"  - {', '.join(map(code, tests[:_TESTS]))}{more}",
            f"  - compared with {code(first.recording)}",
        )
    )


def _alone(what: str, entries: Sequence[LonelyEntry]) -> Iterator[str]:
    yield what
    yield ""
    for entry in entries[:_TESTS]:
        calls = counted(entry.calls, "call") if entry.calls > 1 else code(entry.asked)
        status = f", status {entry.status}" if entry.status else ""
        yield f"- {calls} of {code(entry.test)}{status}"
    if len(entries) > _TESTS:
        yield f"- and {len(entries) - _TESTS} more"
