"""A smoke while it runs: what its steps need, and what has come of them so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from stackproof.catalog.records import Catalog
from stackproof.ci.log import NOWHERE, Log
from stackproof.evidence.live import LiveOutcome
from stackproof.live import planning, scrub
from stackproof.live.budgets import Spent
from stackproof.live.choosing import Choice, Chosen
from stackproof.live.opt_in import LiveModel
from stackproof.live.order import SmokeOrder
from stackproof.live.results import ModelResult
from stackproof.plan import Plan
from stackproof.run.cell_run import CellOutcome


@dataclass(kw_only=True, slots=True)
class Work:
    """secrets: what nothing may show, by the name of their variable. shown: quiet where only JSON is wanted.

    log: what folds cells. asked: requests before the tests. results: of models that were skipped, blocked or run, in
    that order.
    """

    project: Path
    order: SmokeOrder
    environ: Mapping[str, str]
    known: Catalog
    choice: Choice
    secrets: Mapping[str, str]
    run_id: str
    shown: Console
    spent: Spent
    asked: int = 0
    log: Log = NOWHERE
    results: list[ModelResult] = field(default_factory=list)
    cells: list[CellOutcome] = field(default_factory=list)

    def say(self, text: str) -> None:
        """One line without secrets: nothing in it is taken for markup, and nothing is wrapped."""
        clean = scrub.text(text, self.secrets)
        self.shown.print(clean, markup=False, highlight=False, soft_wrap=True, emoji=False)

    def say_all(self, lines: Iterable[str]) -> None:
        """Each as a line."""
        for each in lines:
            self.say(each)

    def plan(self, chosen: Chosen) -> Plan:
        """The plan of one setup, with what is left of the budget."""
        return planning.planned(
            self.order,
            chosen.setup.name,
            self.known,
            self.project,
            self.run_id,
            environ=self.environ,
            left=self.spent.left,
        )

    def plans(self, chosen: Chosen) -> Iterator[Plan]:
        """One for each of its cells, each with what is then left of the budget; none when it is used up."""
        cells = self.plan(chosen).cells
        for cell in cells:
            if self.spent.exhausted().ended_by is None:
                now = self.plan(chosen)
                yield replace(now, cells=tuple(each for each in now.cells if each.id == cell.id))

    def note(self, results: Iterable[ModelResult]) -> None:
        """What came of models; a reason may hold what a provider said."""
        for each in results:
            reason = None if each.reason is None else scrub.text(each.reason, self.secrets)
            self.results.append(replace(each, reason=reason))

    def not_run(self, model: LiveModel, outcome: LiveOutcome, reason: str) -> None:
        """A model whose tests did not begin."""
        self.note([ModelResult(title=model.title, setup=model.setup, outcome=outcome, reason=reason)])

    @property
    def in_order(self) -> tuple[ModelResult, ...]:
        """The results in the order in which the models were asked for, those that are not called at the end."""
        order = {(model.setup, model.title): number for number, model in enumerate(self.choice.models)}
        return tuple(sorted(self.results, key=lambda each: order.get((each.setup, each.title), len(order))))
