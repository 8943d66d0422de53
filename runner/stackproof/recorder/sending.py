"""Calls that go out: sent, followed to their end, and handed to `writing`. The other half of the brain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from . import writing
from .decision import Answer, Later, Record
from .interaction import Call, costs_tokens, is_retried
from .miss import Miss
from .mode import Mode
from .normalise import Ids
from .realids import Outgoing, RealIds
from .scope import Scope
from .take import Response, Take

if TYPE_CHECKING:
    from .brain import Brain

_SHARED_WAIT = 120.0


class Sending:
    """One for each brain. Of a shared scope, one process asks and the others wait for what it got."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self.real_ids = RealIds(brain.ledger)
        self._open: dict[Take, str] = {}  # strong, so that a call whose caller forgot it still settles

    def send(self, call: Call, ordinal: int) -> Answer | Record | Later:
        """Let the call go out; an answer where it must not, or another process's call has given one."""
        outgoing = self.real_ids.put_back(call.scope, call.request.url, call.request.body)
        if outgoing.stale is not None:
            return self._brain.refuse(call, ordinal, self._stale(call, outgoing.stale))
        # Begun before the question who is first: whoever is told "not you" must see the other's call in flight.
        token = self._brain.ledger.begin(call.scope)
        if call.scope.is_shared and not self._brain.ledger.first(call.scope, call.identity.request, ordinal):
            self._brain.ledger.done(token)
            return self._after_other(call, ordinal, outgoing)
        return self._send(call, ordinal, outgoing, token)

    def _stale(self, call: Call, name: str) -> Miss:
        text = f"{call.shown} needs the answer behind {name}, which "
        if self._brain.settings.mode is Mode.VERIFY:
            text += (
                "is an id of a recording and of no answer in this run, so the provider does not know it\n"
                "  run what makes that answer in the same run"
            )
        else:
            text += (
                "was replayed, so the provider does not know it: record this test anew\n"
                f"  {self._brain.settings.command} --inference-mode record"
            )
        return Miss(kind="stale-id", text=text)

    def _send(self, call: Call, ordinal: int, outgoing: Outgoing, token: str) -> Record | Answer:
        """Every call that goes out goes through here, once for each attempt."""
        ledger, trace = self._brain.ledger, self._brain.store.trace
        if (used_up := self._brain.budget.spend()) is not None:
            writing.give_up(self._brain, call, ordinal)
            ledger.done(token)
            return self._brain.refuse_to_spend(call, ordinal, used_up)
        started = time.monotonic()
        retry = ledger.retries(call.scope, call.identity.request)
        if trace is not None:
            trace.sent(self._brain.store, call, ordinal, outgoing.url)

        def on_end(response: Response) -> None:
            try:
                self.real_ids.learn(call.scope, take.ids.written)
                if is_retried(response):
                    ledger.failed(call.scope, call.identity.request, ordinal)
                facts: dict[str, Any] = {
                    "status": response["status"],
                    "seconds": round(time.monotonic() - started, 3),
                    **({"retry": True} if retry else {}),
                }
                if costs_tokens(call, response):
                    tokens = take.usage.tokens
                    self._brain.budget.add(tokens)
                    if tokens is not None:
                        facts["tokens"] = {"input": tokens.input, "output": tokens.output}
                writing.write(self._brain, call, ordinal, response, ids=take.ids, facts=facts)
            finally:
                self._open.pop(take, None)
                ledger.done(token)

        take = Take(Ids(call.identity.request, ordinal, outgoing.known), on_end)
        self._open[take] = call.scope.name
        return Record(take=take, url=outgoing.url, body=outgoing.body)

    def _after_other(self, call: Call, ordinal: int, outgoing: Outgoing) -> Later:
        brain, ledger = self._brain, self._brain.ledger
        name = call.identity.file_name(ordinal)
        deadline = time.monotonic() + _SHARED_WAIT
        if brain.store.trace is not None:
            brain.store.trace.waits(call, ordinal)

        def poll() -> Answer | Record | None:
            in_time = time.monotonic() < deadline
            waiting = in_time and ledger.calls_in_flight(call.scope)
            found = brain.store.staged_file(call.scope, name)
            if found is not None:
                return brain.replay(call, ordinal, name, found)
            if waiting:
                return None
            # Nobody is at it any more and it was not kept: one of those who wait records it.
            token = ledger.begin(call.scope)
            if in_time and not ledger.first(call.scope, call.identity.request, ordinal):
                ledger.done(token)
                return None
            return self._send(call, ordinal, outgoing, token)

        return Later(poll=poll)

    def settle(self, wait: float, scope_name: str | None = None) -> int:
        """Close takes of this process (of one scope, or all) that nobody will read on; how many after waiting."""
        deadline = time.monotonic() + wait
        while (left := self._open_in(scope_name)) and time.monotonic() < deadline:
            time.sleep(0.01)
        for take in left:
            take.close()
        return len(left)

    def has_open(self, owner: Scope) -> bool:
        """Whether a call of the scope is under way in this process."""
        return bool(self._open_in(owner.name))

    def after_fork(self) -> None:
        """In a child: what the parent has under way is the parent's."""
        for take in self._open:
            take.disown()
        self._open.clear()
        self.real_ids.after_fork()

    def _open_in(self, scope_name: str | None) -> list[Take]:
        # Copied in one step: other threads go on adding.
        return [take for take, name in list(self._open.items()) if scope_name in (None, name)]
