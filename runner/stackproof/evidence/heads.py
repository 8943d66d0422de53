"""What the results of several parts of one cell say together, without their tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stackproof.errors import ExitCode
from stackproof.evidence.read import CellFacts

_SEALS = ("namespace", "tripwire")  # from the best to the worst; anything else is worse


def of(name: str, cells: Sequence[CellFacts]) -> CellFacts:
    """Of each thing the worse; nothing where they differ, which no expectation is met by."""
    return replace(
        cells[0],
        id=name,
        result=all(cell.result for cell in cells),
        run_id=runs({cell.run_id for cell in cells if cell.run_id}),
        inference_mode=_agreed(cell.inference_mode for cell in cells),
        suite=_agreed(cell.suite for cell in cells),
        setup=_agreed(cell.setup for cell in cells),
        commit=_agreed(cell.commit for cell in cells),
        dirty=any(cell.dirty for cell in cells),
        policy=_agreed(cell.policy for cell in cells),
        suite_digest=_agreed(cell.suite_digest for cell in cells),
        recordings_digest=_agreed(cell.recordings_digest for cell in cells),
        injected=tuple(dict.fromkeys(fault for cell in cells for fault in cell.injected)),
        exit_code=code([cell.exit_code for cell in cells]),
        signal=next((cell.signal for cell in cells if cell.signal), None),
        error=next((cell.error for cell in cells if cell.error), None),
        sealed=max((cell.sealed for cell in cells), key=_seal),
        report_digest=None,
        digests=(),
        shard=None,
        started=None,
        stopped=None,
    )


def runs(ids: Iterable[str], shown: int = 8) -> str | None:
    """The ids of runs, as one; of very many the first and the last."""
    every = sorted(set(ids))
    if len(every) > shown:
        return f"{every[0]}+…+{every[-1]} ({len(every)} runs)"
    return "+".join(every) or None


def code(codes: Iterable[int | None]) -> int | None:
    """The worst of exit codes; None where one is not known. That tests failed is worse than that recordings did."""
    known: list[int] = []
    for each in codes:
        if each is None:
            return None
        known.append(each)
    return max(known, key=lambda each: (each != 0, each != ExitCode.RECORDINGS, each), default=None)


def _agreed(values: Iterable[str | None]) -> str | None:
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _seal(sealed: str | None) -> int:
    return _SEALS.index(sealed) if sealed in _SEALS else len(_SEALS)
