"""Puts the planned faults of a test into the answers of its calls, and notes each one that happened."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..decision import Answer, Decision
from ..failures import Kind, tell
from ..identity import Identity
from ..interaction import Call
from ..replayed import without_wait
from ..scope import Scope
from . import body, plan
from .dialect import error_body, wire_of
from .fault import INJECTED, Act, Fault

if TYPE_CHECKING:
    from ..brain import Brain

_REFUSED = "Connection refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A fault and its place in the plan of its test, which tells it from an equal one."""

    key: str
    fault: Fault


class Injector:
    """One for each brain. `for_all`: what every test of the run has in its plan."""

    def __init__(self, brain: Brain, for_all: tuple[Mapping[str, Any], ...]) -> None:
        self._brain = brain
        self._run_dir = brain.settings.run_dir
        self._for_all = keyed("run", tuple(Fault.from_data(item) for item in for_all))
        self._plans: dict[str, plan.Plan] = {}

    def _plan_of(self, owner: Scope) -> plan.Plan:
        known = self._plans.get(owner.name)
        if known is None:
            known = plan.read(self._run_dir, owner)
            if known.faults:
                self._plans[owner.name] = known
        return known

    def lender_of(self, call: Call) -> Scope | None:
        """Whose recordings a call was looked for in, where that is another test than the one that made it."""
        if call.identity.scope == call.scope.digest:
            return None
        of = self._plan_of(call.scope).of
        return None if of is None else Scope(name=of, test_id=of)

    def answer(self, call: Call, recorded: Callable[[Call], Decision]) -> Decision:
        """The decision about a call; `recorded` gives the one without any fault."""
        if call.scope.test_id is None or call.scope.name != call.scope.test_id:
            return recorded(call)  # only tests have plans
        own = self._plan_of(call.scope)
        if own.of is not None:
            # Looked for under that test's name, and counted under its own.
            identity = Identity(scope=Scope(name=own.of).digest, request=call.identity.request)
            call = replace(call, identity=identity)
        planned = (*self._for_all, *keyed("test", own.faults))
        mine = [one for one in planned if one.fault.selects(call.form)]
        if not mine:
            return recorded(call)
        decision: Decision | None = None
        for one in mine:
            if one.fault.act.replaces and self._is_due(one, call):
                decision = self._replaced(one, call)
                break
        given = recorded(call) if decision is None else decision
        if not isinstance(given, Answer) or not given.n or given.status is None:
            return given  # a miss stays one, and to a connection that was refused nothing else happens
        answer = body.settled(given)
        for one in mine:
            if not one.fault.act.replaces and (decision is None or one.fault.act is Act.SLOW_FIRST_BYTE):
                answer = self._changed(one, call, answer)
        return replace(answer, over=functools.partial(self._is_over, call.scope))

    def _is_due(self, one: Planned, call: Call) -> bool:
        return one.fault.is_due(self._brain.ledger.claim_fault(call.scope, one.key))

    def _is_over(self, owner: Scope) -> bool:
        return self._brain.closed or plan.is_over(self._run_dir, owner) or self._brain.ledger.has_ended(owner)

    def _changed(self, one: Planned, call: Call, answer: Answer) -> Answer:
        # Built before it is known whether it is due: what it cannot happen to is not counted.
        met: list[bool] = []
        changed = body.changed(answer, one.fault, call.form["path"], lambda: met.append(True))
        if changed is None or not self._is_due(one, call):
            return answer
        note = functools.partial(self._note, one, call, answer.n)
        return body.changed(answer, one.fault, call.form["path"], note) or answer

    def _replaced(self, one: Planned, call: Call) -> Answer:
        """Instead of the recorded answer, which whoever asks again gets: no number is taken."""
        ordinal = self._brain.ledger.claimed(call.scope, call.identity.request) + 1
        found = self._brain.find(call, ordinal)
        self._note(one, call, ordinal, **({} if found is None else {"file": found[0]}))
        if one.fault.act is Act.REFUSED:
            return Answer(status=None, headers={}, chunks=(), exception=tell(Kind.CONNECT, _REFUSED), n=ordinal)
        status = one.fault.number
        headers = {"content-type": "application/json"}
        if one.fault.retry_after is not None:
            headers["retry-after"] = f"{one.fault.retry_after:g}"
        said = error_body(wire_of(call.form["path"]), status)
        return Answer(status=status, headers=without_wait(status, headers), chunks=(said,), n=ordinal)

    def _note(self, one: Planned, call: Call, ordinal: int, **more: str) -> None:
        self._brain.note(INJECTED, call, ordinal, fault=one.fault.spec, planned=one.key, **more)


def keyed(prefix: str, faults: tuple[Fault, ...]) -> tuple[Planned, ...]:
    """Each with its key: `run` for what all tests have, `test` for one's own."""
    return tuple(Planned(key=f"{prefix}.{at}", fault=fault) for at, fault in enumerate(faults))
