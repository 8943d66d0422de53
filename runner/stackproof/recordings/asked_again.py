"""Calls of a test that a run in `verify` made for real, each beside the recording that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackproof.evidence import jsonfile
from stackproof.recorder.identity import Identity
from stackproof.recorder.scope import Scope
from stackproof.recordings.corpus import Entry
from stackproof.recordings.unmet import Seen

KIND = "observed"


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedAgain:
    """One call. status: None where the connection broke. file: what was answered, None where it could not be written.

    recording: the one of the same request, None where there is none. retry: an equal call before it was refused.
    """

    what: str
    status: int | None
    seconds: float | None
    retry: bool
    file: Path | None
    recording: Entry | None

    @property
    def answer(self) -> str:
        """`200`, or `a broken connection`."""
        return "a broken connection" if self.status is None else str(self.status)

    @property
    def is_plain(self) -> bool:
        """Whether it was answered, and there is a recording to compare that with."""
        return self.status is not None and self.status < 400 and self.recording is not None


def of(seen: Seen, entries: Sequence[Entry]) -> Iterator[AskedAgain]:
    """Those of one cell, in their order."""
    recorded = {entry.path.name: entry for entry in entries if entry.setup == seen.setup}
    for call in seen.calls:
        if call.get("kind") == KIND:
            file = jsonfile.text(call, "file")
            seconds = call.get("seconds")
            yield AskedAgain(
                what=f"{call.get('method')} {call.get('path')} of {call.get('provider')}",
                status=jsonfile.number(call, "status"),
                seconds=seconds if isinstance(seconds, int | float) else None,
                retry=call.get("retry") is True,
                file=None if file is None else Path(file),
                recording=next((recorded[name] for name in _names(call, file) if name in recorded), None),
            )


def _names(call: Mapping[str, Any], file: str | None) -> Iterator[str]:
    """What its recording may be called: as what was observed, or as an earlier call that this one repeats."""
    if file is not None:
        yield Path(file).name
    identity = Identity(scope=Scope(name=str(call.get("scope"))).digest, request=str(call.get("request")))
    number = jsonfile.number(call, "n") or 1
    for each in range(number, 0 if call.get("retry") is True else number - 1, -1):
        yield identity.file_name(each)
