"""What a comparison found, in lines for a person: equal differences of several answers as one, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stackproof.evidence.drift import SEVERITIES, DriftEntry, DriftFacts, LonelyEntry
from stackproof.plaintext import counted, one_line, shortened

_LINES = 12
_WIDTH = 100
_EXAMPLE = 24
_COMMANDS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The same difference, in one answer or in many."""

    entries: tuple[DriftEntry, ...]

    @property
    def first(self) -> DriftEntry:
        """The one that stands for all."""
        return self.entries[0]

    @property
    def headline(self) -> str:
        """`gone field choices[].message.content`: what it is and where."""
        return f"{self.first.kind.replace('-', ' ')} {self.first.where}"

    @property
    def answers(self) -> int:
        """In how many answers it was seen."""
        return len({entry.observed_file for entry in self.entries})

    @property
    def sides(self) -> tuple[str, str]:
        """What was recorded and what was observed, short; `nothing` where a side has none."""
        return self.first.recorded or "nothing", self.first.observed or "nothing"


def groups(entries: Sequence[DriftEntry]) -> tuple[Group, ...]:
    """Equal differences together, the worst first."""
    found: dict[tuple[str, ...], list[DriftEntry]] = {}
    for entry in entries:
        key = (entry.severity, entry.kind, entry.where, entry.provider, entry.asked)
        found.setdefault(key, []).append(entry)
    ranked = sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][0]), -len(item[1]), item[0]))
    return tuple(Group(entries=tuple(same)) for _, same in ranked)


def lines(facts: DriftFacts, *, more: str, everything: bool = False) -> Iterator[str]:
    """The end of a cell: one line where nothing differs. more: the command that shows what is left out here."""
    yield headline(facts)
    limit = None if everything else _LINES
    told, hidden = _groups(groups(facts.differences), limit)
    yield from told
    yield from _alone(facts, everything=everything)
    if hidden or facts.left_out:
        rest = f"{counted(hidden, 'more difference')}, " if hidden else ""
        left = f"{counted(facts.left_out, 'difference')} that drift.json has no room for, " if facts.left_out else ""
        yield f"  … {rest}{left}all: {more}" if hidden else f"  … {left.removesuffix(', ')}"
    yield from _commands(facts, everything=everything)


def headline(facts: DriftFacts) -> str:
    """How many answers differ, in one sentence."""
    beside = _beside(facts)
    if not facts.compared:
        return f"drift: nothing was compared{beside}"
    if not facts.differences and not facts.left_out:
        shape = "1 answer has the shape of its recording" if facts.compared == 1 else (
            f"{facts.compared:,} answers have the shapes of their recordings"
        )  # fmt: skip
        return f"drift: none; {shape}{beside}"
    return f"drift: {told(facts)} in {counted(facts.compared, 'answer')}{beside}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unproven:
    """Why a comparison says nothing of drift, as the end of a sentence, and what to do about it."""

    why: str
    hint: str


def unproven(facts: DriftFacts, *, record: str) -> Unproven | None:
    """What a strict comparison lacks that compared nothing; None where it compared something.

    record: the command that records what is missing.
    """
    if facts.compared:
        return None
    if facts.is_empty:
        return Unproven(
            why="nothing was compared: no test made a call that was seen",
            hint="leave --strict out for tests that call no provider; what is seen: stackproof docs recording",
        )
    return Unproven(why=f"nothing was compared{_beside(facts)}", hint=_what_next(facts, record))


def _what_next(facts: DriftFacts, record: str) -> str:
    """What is needed before anything can be compared, the first that fits."""
    if facts.unrecorded:
        return f"record what is missing, then verify again: {record}"
    if facts.refused:
        return "the provider refused every call: look at its key, its credit and its address, then verify again"
    if facts.damaged:
        return "`stackproof recordings check` says what is damaged: mend that, then verify again"
    return "the tests no longer make the calls that are recorded: record them anew, then verify again"


def _beside(facts: DriftFacts) -> str:
    """What is told behind the number of answers: `; 3 calls not recorded, 1 call refused`."""
    also = [
        f"{counted(number, 'call')} {what}"
        for number, what in ((facts.unrecorded, "not recorded"), (facts.refused, "refused"))
        if number
    ]
    if facts.not_asked:
        also.append(f"{counted(facts.not_asked, 'recording')} not asked for")
    if facts.damaged:
        also.append(f"{counted(len(facts.damaged), 'file')} damaged")
    return f"; {', '.join(also)}" if also else ""


def told(facts: DriftFacts) -> str:
    """`2 breaking, 1 additive, 3 notes`: what there is of each."""
    numbers = ((facts.breaking, "breaking"), (facts.additive, "additive"))
    parts = [f"{number:,} {name}" for number, name in numbers if number]
    return ", ".join([*parts, *([counted(facts.note, "note")] if facts.note else [])])


def _groups(found: Sequence[Group], limit: int | None) -> tuple[list[str], int]:
    shown: list[str] = []
    for number, group in enumerate(found):
        block = list(_group(group, None if limit is None else _EXAMPLE))
        if limit is not None and len(shown) + len(block) > limit:
            return shown, len(found) - number
        shown += block
    return shown, 0


def _group(group: Group, width: int | None) -> Iterator[str]:
    seen = f"{group.answers} × {group.first.asked}"
    yield f"  {group.first.severity:<8}  {shortened(one_line(group.headline), _WIDTH)}  {one_line(seen)}"
    recorded, observed = (one_line(side) for side in group.sides)
    if width is not None:
        recorded, observed = shortened(recorded, width), shortened(observed, width)
    yield f"            recorded {recorded}  observed {observed}"


def _alone(facts: DriftFacts, *, everything: bool) -> Iterator[str]:
    for title, number, entries in (
        ("not recorded", facts.unrecorded, facts.unrecorded_calls),
        ("not asked for", facts.not_asked, facts.not_asked_calls),
        ("refused", facts.refused, facts.refused_calls),
    ):
        if not number or not entries:
            continue
        for entry in entries if everything else entries[:1]:
            yield f"  {title}: {one_line(_who(entry))}"
        rest = number - sum(entry.calls for entry in (entries if everything else entries[:1]))
        if rest > 0:
            yield f"    and {rest:,} more"
    for name in facts.damaged if everything else facts.damaged[:1]:
        yield f"  damaged: {one_line(name)}"


def _who(entry: LonelyEntry) -> str:
    calls = counted(entry.calls, "call") if entry.calls > 1 else entry.asked
    status = f" with {entry.status}" if entry.status else ""
    why = f" ({entry.why})" if entry.why else ""
    return f"{calls} of {entry.test}{status}{why}"


def _commands(facts: DriftFacts, *, everything: bool) -> Iterator[str]:
    """How to record anew what differs, else what is missing: each test once."""
    worth = [entry.again for entry in facts.differences if entry.severity != "note"]
    commands = list(dict.fromkeys(worth or [entry.again for entry in facts.unrecorded_calls]))
    shown = commands if everything else commands[:_COMMANDS]
    for command in shown:
        yield f"  record anew: {one_line(command)}"
    if len(commands) > len(shown):
        yield f"  and {counted(len(commands) - len(shown), 'more test')}"
