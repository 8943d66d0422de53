"""The calls of one finished cell compared with the recordings; `drift.json` is written from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

from stackproof.drift import comparing, reading, report
from stackproof.drift.accepted import Accepted
from stackproof.drift.pairing import Call, Pairs, pair
from stackproof.drift.report import Alone, Difference, Report
from stackproof.evidence import jsonfile, testlog
from stackproof.evidence.drift import NAME
from stackproof.evidence.outcomes import Outcome
from stackproof.recorder import redact
from stackproof.recorder.miss import command_for
from stackproof.recorder.mode import Mode
from stackproof.recorder.scope import Scope
from stackproof.recorder.settings import Settings
from stackproof.recorder.store import COMMON, Store

_SETTINGS = "recorder.json"
_WIDEST = 5_000  # recordings of a setup that are read to find out what else is accepted


def write(
    cell_dir: Path, project: Path, environ: Mapping[str, str], *, root: Path, command: str
) -> dict[str, Any] | None:
    """Compare, write `drift.json`, and return what is in it; None where the cell observed nothing to be compared.

    root: the recording directory. command: what runs the cell, without what chooses tests and mode.
    """
    facts = found(cell_dir, project, environ, root=root, command=command)
    if facts is not None:
        jsonfile.write(cell_dir / NAME, facts)
    return facts


def found(
    cell_dir: Path, project: Path, environ: Mapping[str, str], *, root: Path, command: str = ""
) -> dict[str, Any] | None:
    """What `write` writes; without a command, one is made from what the cell was."""
    settings = settings_of(cell_dir)
    if settings is None or settings.mode is not Mode.VERIFY:
        return None
    settings = replace(settings, command=command or _command(settings, cell_dir))
    facts = report.to_json(compare(cell_dir, settings, project, root))
    # What is compared is masked already; what somebody put into a path or a test's name is not.
    return dict(redact.conceal(facts, redact.known_values(settings.secrets, environ)))


def settings_of(cell_dir: Path) -> Settings | None:
    """What the recorder of a cell was told; None where nothing that can be read says it."""
    try:
        return Settings.from_json((cell_dir / _SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _command(settings: Settings, cell_dir: Path) -> str:
    stack = cell_dir.name.removeprefix(f"{settings.suite}-{settings.setup}-").replace("-", ":", 1)
    suite = f" --suite {settings.suite}" if settings.suite else ""
    return f"stackproof run{suite} --setup {settings.setup} --stack-config {stack}"


def compare(cell_dir: Path, settings: Settings, project: Path, root: Path) -> Report:
    """Every call that a cell observed beside what is recorded of the same scope."""
    return _Comparison(cell_dir=cell_dir, settings=settings, root=root, project=project).report()


@dataclass(slots=True, kw_only=True)
class _Comparison:
    cell_dir: Path
    settings: Settings
    root: Path
    project: Path
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    unrecorded: list[Alone] = field(default_factory=list)
    not_asked: list[Alone] = field(default_factory=list)
    refused: list[Call] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    wide: dict[tuple[object, ...], Accepted] | None = None

    def report(self) -> Report:
        """Scope by scope, so that no more than one scope's answers are held."""
        seen = reading.observed(self.cell_dir)
        self.damaged += seen.damaged
        log = testlog.read(self.cell_dir / "tests.jsonl")
        passed = {name for name, test in log.tests.items() if test.outcome is Outcome.PASSED}
        for scope in sorted({*seen.scopes, *passed}):
            attempts = seen.calls(scope, self.damaged)
            recorded = reading.recorded(self._folders(scope), scope, self.root, self._shown(), self.damaged)
            self._scope(recorded, attempts, ended=scope in passed)
        return Report(
            compared=self.compared,
            differences=tuple(self.differences),
            unrecorded=tuple(self.unrecorded),
            not_asked=tuple(self.not_asked),
            refused=tuple(self.refused),
            damaged=tuple(self.damaged),
        )

    def _scope(self, recorded: Sequence[Call], attempts: Mapping[str, Sequence[Call]], *, ended: bool) -> None:
        asked: set[str] = set()
        for _, calls in sorted(attempts.items()):
            if not recorded:
                self._nothing_recorded(calls)
                continue
            pairs = self._models(recorded, calls) if calls[0].scope == reading.MODELS else pair(recorded, calls)
            self.refused += pairs.refused
            self.unrecorded += (
                self._alone(call, "no recording of this test is of such a call") for call in pairs.unrecorded
            )
            asked |= {before.file for before, _ in pairs.paired}
            # It was asked for, and nothing is known of its answer.
            tried = {call.request for call in pairs.refused}
            asked |= {call.file for call in recorded if call.request in tried}
            for before, now in pairs.paired:
                self._pair(recorded, before, now)
        if ended:
            stack = self.settings.provenance.get("stack")
            self.not_asked += (
                self._alone(call, "its test passed and did not make this call")
                for call in recorded
                if call.file not in asked and (call.stack is None or stack is None or call.stack == stack)
            )

    @staticmethod
    def _models(recorded: Sequence[Call], calls: Sequence[Call]) -> Pairs:
        """Lists of models: each server has its own, and any of one request will do."""
        paired, left, refused = [], [], []
        for call in calls:
            same = [each for each in recorded if each.request == call.request]
            if call.answer.is_refusal:
                refused.append(call)
            elif same:
                paired.append((same[0], call))
            else:
                left.append(call)
        return Pairs(paired=tuple(paired), unrecorded=tuple(left), refused=tuple(refused))

    def _nothing_recorded(self, calls: Sequence[Call]) -> None:
        """Said once for a scope, not for each of its calls."""
        told = [call for call in calls if not call.answer.is_refusal]
        self.refused += (call for call in calls if call.answer.is_refusal)
        if told:
            alone = self._alone(told[0], "nothing is recorded for it")
            self.unrecorded.append(Alone(call=alone.call, why=alone.why, again=alone.again, calls=len(told)))

    def _pair(self, recorded: Sequence[Call], before: Call, now: Call) -> None:
        self.compared += 1
        found = list(comparing.outside(before.answer, now.answer))
        if not found:
            accepted = Accepted()
            for call in recorded:
                if call is before or (call.asked == now.asked and comparing.is_comparable(call.answer, now.answer)):
                    accepted.add(call.answer)
            found = list(comparing.inside(accepted, now.answer, model=now.model))
            # What other tests were answered to requests like this one is no drift here either.
            if found and (like := self._like(now)) is not None:
                found = list(comparing.inside(like, now.answer, model=now.model))
        again = self._again(now)
        self.differences += (Difference(finding=each, recorded=before, observed=now, again=again) for each in found)

    def _like(self, now: Call) -> Accepted | None:
        """All answers of the setup to requests like this one, read when the first difference is met."""
        if self.wide is None:
            self.wide = {}
            for call in reading.everything(self.root, self.settings.setup, _WIDEST):
                self.wide.setdefault(_group(call), Accepted()).add(call.answer)
        return self.wide.get(_group(now))

    def _folders(self, scope: str) -> list[Path]:
        store = Store(str(self.root), self.settings.setup, str(self.cell_dir), self.settings.integration_root)
        if scope == reading.MODELS:
            return [Path(store.base, COMMON)]
        return [Path(folder) for folder in store.folders(Scope(name=scope))]

    def _alone(self, call: Call, why: str) -> Alone:
        return Alone(call=call, why=why, again=self._again(call))

    def _again(self, call: Call) -> str:
        file, found, _ = call.scope.partition("::")
        if found and file.endswith(".py") and not file.startswith("fixture:"):
            # By its node id: a pattern would record tests as well whose names begin alike.
            return f"{self.settings.command} --file {quote(call.scope)} --inference-mode {Mode.RECORD}"
        scope = Scope(name=call.scope, test_id=call.test_id or None)
        return command_for(self.settings.command, scope, Mode.RECORD)

    def _shown(self) -> str:
        return (
            self.root.relative_to(self.project).as_posix() if self.root.is_relative_to(self.project) else str(self.root)
        )


def _group(call: Call) -> tuple[object, ...]:
    return (call.asked, call.answer.status, call.answer.form)
