"""The provider calls of a cell in words. The facts are those of the event `calls` in `tests.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackproof import plaintext
from stackproof.faults import told
from stackproof.recorder.mode import Mode

_ALWAYS = {Mode.VERIFY: ("observed", "missed")}
_MEANT = ("replayed", "recorded", "missed", "unused")


def counted(facts: Mapping[str, Any], mode: Mode, *, unused: bool = True, also: tuple[str, ...] = ()) -> str:
    """`12 observed, 0 missed, 2 retries`: what the mode is about, and what else there was.

    unused: whether it is known what nobody asked for. also: kinds that are named where there are any.
    """
    kinds = [kind for kind in _ALWAYS.get(mode, _MEANT) if unused or kind != "unused"]
    kinds += [kind for kind in also if facts.get(kind)]
    parts = [f"{facts.get(kind) or 0} {kind}" for kind in kinds]
    if mode is Mode.VERIFY and (shared := facts.get("replayed")):
        parts.append(f"{shared} answered with what another worker observed")
    if retries := facts.get("retries"):
        parts.append("1 retry" if retries == 1 else f"{retries} retries")
    if injected := facts.get("injected"):
        parts.append(told.counted(injected))
    return ", ".join(parts)


def past(facts: Mapping[str, Any], mode: Mode) -> Iterator[str]:
    """The line about hosts that were contacted past the recorder; none where there were none."""
    if hosts := facts.get("unseen_hosts"):
        seen = "observed" if mode is Mode.VERIFY else "recorded"
        yield f"contacted and not {seen}: {', '.join(map(str, hosts))}"


def spent(budget: Mapping[str, Any]) -> Iterator[str]:
    """The line about what real calls have used, and of how much where there is a limit; none where none went out.

    budget: the facts of `budget.json`.
    """
    requests, tokens, seconds = (budget[name] for name in ("requests", "tokens", "seconds"))
    limited = any(limit is not None for _, limit in (requests, tokens, seconds))
    if not limited and not requests[0]:
        return
    unknown = budget.get("unknown") or 0
    nothing_said = unknown and not tokens[0] and tokens[1] is None
    parts = [
        of(requests[0], requests[1], "request"),
        "tokens unknown" if nothing_said else of(tokens[0], tokens[1], "token"),
    ]
    if unknown:
        parts[-1] += f" ({unknown} {'answer' if unknown == 1 else 'answers'} did not say)"
    if seconds[1] is not None:
        parts.append(of_seconds(seconds[0], seconds[1]))
    refused = budget.get("refused") or 0
    if refused:
        parts.append(f"{refused} {'call' if refused == 1 else 'calls'} refused")
    yield f"{'budget' if limited else 'spent'}: {', '.join(parts)}"


def of(used: int, limit: int | None, what: str) -> str:
    """`12 of 60 requests`, and `1 request` where there is no limit."""
    return plaintext.counted(used, what) if limit is None else f"{used:,} of {limit:,} {what}s"


def of_seconds(used: float, limit: float) -> str:
    """`2.4 of 900 s`."""
    return f"{used:.1f} of {plaintext.number(limit)} s"
