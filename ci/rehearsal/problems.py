"""What is wrong, with its place in a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from stackproof.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where something stands. line: from 1. what: the way to it, such as jobs.plan.steps[1].run."""

    file: str
    line: int
    what: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class WorkflowError(UsageError):
    """A workflow file says something that no runner would carry out, or that cannot be played here."""

    def __init__(self, place: Place, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{place}: {message}", hint=hint)
        self.place = place
        self.text = message


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that would go wrong, or go wrong silently, on a real runner."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(kw_only=True, slots=True)
class Found:
    """What a rehearsal has found so far, each thing once, and which parts were played instead of run."""

    findings: list[Finding] = field(default_factory=list)
    played: dict[str, int] = field(default_factory=dict)

    def add(self, place: Place, text: str) -> None:
        """Keep a finding."""
        finding = Finding(place=place, text=text)
        if finding not in self.findings:
            self.findings.append(finding)

    def play(self, what: str) -> None:
        """Count something that was played."""
        self.played[what] = self.played.get(what, 0) + 1
