"""Shards of one cell, put together to that cell: what is missing is named, and what is there twice counts once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice

from stackproof.errors import ExitCode
from stackproof.evidence import deliveries, heads, jsonfile, read, sessions, testlog, times
from stackproof.evidence import shards as records
from stackproof.evidence.deliveries import Delivery, listed
from stackproof.evidence.folding import Folding, Repeated
from stackproof.evidence.outcomes import Outcome
from stackproof.evidence.read import CellError, CellFacts
from stackproof.evidence.shards import MissingShard, Sharded
from stackproof.evidence.testlog import TestLog
from stackproof.plaintext import counted

_FROM_OUTSIDE = frozenset({"SIGINT", "SIGTERM", "SIGHUP"})
_FAILED = (ExitCode.TESTS, ExitCode.STACK_START)  # what an error of a cell may say that is no lack of proof
_COMMANDS = 8
_TOLD = 20  # sentences of one kind
_DID = {Outcome.ERROR: "ended with an error", Outcome.FLAKY: "was flaky", Outcome.SKIPPED: "was skipped"}
Expected = Callable[[str], tuple[str, ...]]
"""The run folders that should have a cell's folder of that name, as far as they say so."""


class Putting:
    """One whole while its shards are taken in, one at a time."""

    def __init__(self, name: str, found: Sequence[Delivery], expected: Expected) -> None:
        self._name = name
        self._found = found
        self._expected = expected
        self._folding = Folding()
        self._doubts: list[str] = []
        self._notes: list[str] = []
        self._codes: list[int | None] = []
        self._errors: list[tuple[str, CellError]] = []
        self._bad: list[Delivery] = []
        self._present = True

    def cell(self) -> CellFacts:
        """The whole, with all that was seen."""
        for _, same in groupby(self._found, lambda each: each.order[:2]):
            self._take(_ended_first(list(same)))
        totals = self._totals()
        main = max(totals, key=lambda total: (len(totals[total]), total))
        missing = self._missing(main, totals[main])
        if not missing:  # else one of those may have used them
            self._folding.found_unused(sorted(_unused(self._folding.undecided, self._found)))
        doubts = [*self._mixed(totals), *self._disagreements(), *self._sum(missing)]
        complete = not doubts and not missing and self._folding.says_all
        return self._made(main, len(totals[main]), missing, [*doubts, *self._doubts], complete=complete)

    def _take(self, same: Sequence[Delivery]) -> None:
        """All runs of one shard; the first of them is the one that counts."""
        first, *others = same
        cell = read.whole(first.cell, first.path)
        twice, tests = self._folding.add(cell)
        bad = [fact.name for fact in tests.facts.others if fact.outcome.bad]
        doubts = [*_doubts(cell, bad), *(problem.text for problem in cell.report.problems)]
        if cell.log.present and cell.report.cases:
            doubts += tests.contradictions
        elif cell.log.tests and not cell.report.problems:
            doubts.append("its report names no test")
        if twice:
            doubts.append(f"{len(twice)} of its tests are in another part, too: {sessions.listed(sorted(twice))}")
        self._doubt(first, doubts, bad=bool(bad))
        self._codes.append(0 if _is_empty(cell) else cell.exit_code)
        self._errors += [(first.name, cell.error)] if cell.error is not None else []
        self._present = self._present and cell.log.present
        own = frozenset(cell.log.tests) if others else frozenset()
        for again in others:
            self._retake(first, again, own)

    def _retake(self, first: Delivery, again: Delivery, own: frozenset[str]) -> None:
        """Another run of a shard: what failed in it failed, and what it did not get to does not count."""
        cell = read.whole(again.cell, again.path)
        ended = _has_ended(again, cell.log)
        # Whoever wrote a result lived on: then the session died by itself, inside of a test.
        crashed = cell.result and cell.log.exitstatus is None and cell.signal not in _FROM_OUTSIDE
        found = self._folding.repeat(cell, own, to_blame=crashed)
        places = f"in {first.origin} and in {again.origin}"
        counts = "counts once" if ended else f"did not end in {again.origin}, where only what failed counts"
        self._notes.append(f"{first.name} ran {places}, and {counts}")
        told = {
            each.test: f"{each.test} {_did(each.first)} in {first.origin} and {_did(each.again)} in {again.origin}: "
            "it is flaky, and the worse counts"
            for each in found.wavered
        }
        failed = [each.test for each in found.wavered if each.first.bad or each.again.bad]
        self._notes += _some(text for test, text in told.items() if test not in failed)
        if ended:
            self._codes.append(0 if _is_empty(cell) else cell.exit_code)
        if cell.error is not None and (ended or cell.error.exit_code in _FAILED):
            self._errors.append((first.name, cell.error))
        doubts = [*_some(told[test] for test in failed), *_other_tests(first, again, own, cell, found, ended=ended)]
        self._doubt(again, doubts, bad=any(each.again.bad for each in found.wavered))

    def _doubt(self, about: Delivery, doubts: Iterable[str], *, bad: bool) -> None:
        texts = list(doubts)
        self._doubts += [f"{about.name}: {text}" for text in texts]
        if texts or bad:
            self._bad.append(about)

    def _totals(self) -> dict[int, dict[int, Delivery]]:
        """Of each number of shards that is said, those that are there."""
        totals: dict[int, dict[int, Delivery]] = {}
        for each in self._found:
            if (shard := each.cell.shard) is not None:
                totals.setdefault(shard.total, {}).setdefault(shard.index, each)
        return totals

    def _missing(self, total: int, there: dict[int, Delivery]) -> list[MissingShard]:
        command = next((each.cell.command for each in there.values() if each.cell.command), None)
        return [
            MissingShard(
                index=index,
                total=total,
                expected=self._expected(records.folder_of(self._name, index, total)),
                command=None if command is None else records.command_of(command, index, total),
            )
            for index in range(1, total + 1)
            if index not in there
        ]

    def _mixed(self, totals: dict[int, dict[int, Delivery]]) -> Iterator[str]:
        """What cannot be parts of the same whole."""
        if len(totals) > 1:
            each = [f"{listed(one.name for one in there.values())}" for _, there in sorted(totals.items())]
            yield f"it is cut in different ways: {'; '.join(each)}"
        if whole := [each for each in self._found if each.cell.shard is None]:
            yield f"it is there whole, too, in {listed(each.origin for each in whole)}, and counts once"

    def _disagreements(self) -> Iterator[str]:
        yield from _some(deliveries.disagreements(self._with_result))

    @property
    def _with_result(self) -> Sequence[Delivery]:
        """A run that has no result beside one that has says nothing that others could differ from."""
        return [each for each in self._found if each.cell.result] or self._found

    def _sum(self, missing: Sequence[MissingShard]) -> Iterator[str]:
        """Whether the parts make the whole, as they say how many tests it has."""
        wholes = {shard.tests for each in self._found if (shard := each.cell.shard) and shard.tests is not None}
        tests, collected = max(wholes, default=0), self._folding.collected
        if len(wholes) == 1 and not missing and self._folding.says_all and collected != tests:
            yield f"its shards collected {counted(collected, 'test')}, and the whole has {tests}"

    def _made(
        self, total: int, there: int, missing: Sequence[MissingShard], doubts: Sequence[str], *, complete: bool
    ) -> CellFacts:
        cells = [each.cell for each in self._with_result]
        code, folding = heads.code(self._codes), self._folding
        error, others = self._error(there)
        command = next((cell.command for cell in cells if cell.command), None)
        again = dict.fromkeys([*(each.command for each in missing), *(each.cell.command for each in self._bad)])
        return replace(
            heads.of(self._name, cells),
            exit_code=code,
            signal=None,
            error=error,
            report=folding.report(),
            log=folding.log(present=self._present, exitstatus=code, partly=True),
            misses=folding.misses(),
            command=None if command is None else records.command_of_whole(command),
            joined=folding.tests(),
            shards=Sharded(
                total=total,
                delivered=there,
                complete=complete,
                missing=tuple(missing),
                doubts=(*doubts, *others),
                notes=(*self._notes, *_some(deliveries.of_other_versions(self._with_result))),
                places=frozenset(each.path.name for each in self._found),
                bad=frozenset(each.path.name for each in self._bad),
                reports=frozenset(each.cell.report_digest for each in self._found if each.cell.report_digest),
                again=tuple(islice(filter(None, again), _COMMANDS)),
                times=times.of(each.span for each in self._found),
            ),
        )

    def _error(self, there: int) -> tuple[CellError | None, list[str]]:
        """The error of the whole, and what else there is to say of errors."""
        failed = [(name, error) for name, error in self._errors if error.exit_code in _FAILED]
        told = [f"{name}: {error.message}" for name, error in self._errors if (name, error) not in failed]
        if failed:
            names = listed(name for name, _ in failed)
            return replace(failed[0][1], message=f"{names}: {failed[0][1].message}"), told
        if self._errors and len({name for name, _ in self._errors}) >= there:
            return self._errors[0][1], told[1:]
        return None, told


def _ended_first(same: list[Delivery]) -> list[Delivery]:
    """Of several runs of one shard, one that went to its end is the one that counts, whatever the runs are called."""
    if len(same) == 1:
        return same
    return sorted(same, key=lambda each: not _has_ended(each, testlog.read(each.path / "tests.jsonl")))


def _has_ended(each: Delivery, log: TestLog) -> bool:
    """Whether a run went to its end by itself: neither its machine nor anybody else stopped it."""
    return each.finished and each.cell.signal not in _FROM_OUTSIDE and log.exitstatus is not None


def _doubts(cell: CellFacts, bad: Sequence[str]) -> Iterator[str]:
    """Why a shard by itself proves nothing."""
    shard, collected = cell.shard, cell.log.collected
    if not cell.result:
        yield "result.json is missing or cannot be read"
    if shard is not None and shard.differs is not None:
        yield shard.differs
    yield from sessions.not_ended(cell)
    if _is_empty(cell):
        return
    yield from sessions.unfit(cell, bad)
    if shard is not None and shard.own is not None and collected is not None and len(collected) != shard.own:
        yield f"it collected {counted(len(collected), 'test')}, and {shard.own} would be its own"


def _unused(undecided: frozenset[str], found: Sequence[Delivery]) -> set[str]:
    """Those recordings that no shard used, as their calls tell, which are looked at for this alone."""
    left = {name.rpartition("/")[2]: name for name in undecided}
    for each in found if left else ():
        for call in jsonfile.lines(each.path / "calls.jsonl"):
            file = jsonfile.text(call, "file") if call is not None and call.get("kind") == "replayed" else None
            name = "" if file is None else file.replace("\\", "/").rpartition("/")[2]
            if file is not None and name in left and file.endswith(left[name]):
                del left[name]
    return set(left.values())


def _is_empty(cell: CellFacts) -> bool:
    """Whether it is a shard that has no test, of more shards than tests, and ran none."""
    return (
        cell.shard is not None
        and cell.shard.own == 0
        and cell.exit_code in (0, 5)  # pytest ends with 5 where it ran nothing
        and cell.signal is None
        and not cell.log.collected
        and not cell.log.tests
    )


def _other_tests(
    first: Delivery, again: Delivery, own: frozenset[str], cell: CellFacts, found: Repeated, *, ended: bool
) -> Iterator[str]:
    """Why another run of a shard was not the same session once more."""
    if found.strange:
        yield f"it ran other tests in {again.origin} than in {first.origin}: {sessions.listed(sorted(found.strange))}"
    if not ended:
        return
    if lost := own - cell.log.tests.keys():
        yield f"it did not run in {again.origin} what it ran in {first.origin}: {sessions.listed(sorted(lost))}"
    bad = [fact.name for fact in found.tests.facts.others if fact.outcome.bad]
    yield from (f"{text} (in {again.origin})" for text in _doubts(cell, bad))


def _did(outcome: Outcome) -> str:
    return _DID.get(outcome, outcome.value)


def _some(texts: Iterable[str]) -> Iterator[str]:
    """The first of very many."""
    every = list(texts)
    yield from every[:_TOLD]
    if len(every) > _TOLD:
        yield f"… and {len(every) - _TOLD} more like these"
