"""Decides about each call: pass it on, answer it from a file, let it go out, or refuse it. Knows no HTTP library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import client, miss, recording, redact, rules, scope, tokens
from .budget import Budget
from .decision import Answer, Decision, PassThrough
from .identity import Identity, describe, digest
from .interaction import Call, Request
from .ledger import Ledger
from .miss import Miss
from .mode import Mode
from .providers import Providers, Target, is_below
from .replayed import answer_of, headers_of
from .scope import Scope
from .sending import Sending
from .settings import Settings
from .store import OBSERVED, STAGED, Store, merge_models

if TYPE_CHECKING:
    from .debug import Trace
    from .inject.injector import Injector

_NOTHING = PassThrough(headers={})


class Brain:
    """One for each installation; safe to ask from many threads and tasks."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        """ValueError names a rule that does not exist."""
        rules.check(settings.rules)
        self.settings = settings
        self.providers = Providers(settings.providers)
        self.ledger = Ledger(settings.run_dir)
        self.store = Store(
            settings.recordings,
            settings.setup,
            settings.run_dir,
            settings.integration_root,
            stack=settings.provenance.get("stack"),
            staging=OBSERVED if settings.mode is Mode.VERIFY else STAGED,
        )
        self.without_scope = miss.without_scope  # what is said of a call that is nobody's
        self.closed = False  # taken out of the process: nobody waits for answers any more
        self.requests_with_scope = 0  # requests to the stack that carry an id and are being served now
        self.secrets = redact.known_values(settings.secrets, environ)
        self._trace: Trace | None = None
        if settings.debug:
            from . import debug  # loaded only where it has something to tell

            self._trace = self.store.trace = debug.trace(settings, environ, self.secrets)
        self._plans = os.path.join(settings.run_dir, "faults") if settings.mode is Mode.REPLAY else None
        self._injector: Injector | None = None
        self.budget = Budget(settings.limits, self.ledger)
        self._sending = Sending(self)
        self._last_of: dict[tuple[str, str], int] = {}

    def ask(self, request: Request) -> Decision:
        """What to do with a call. Never raises for anything that is wrong with recordings: that is an answer, too."""
        if self.settings.mode is Mode.LIVE:
            return _NOTHING
        target = self.providers.match(request.url)
        if target is None or target.gives_tokens:
            decision = self._not_recorded(request, target)
            if self._trace is not None:
                self._trace.not_recorded(request, decision)
            return decision
        call = self._call(request, target)
        if call.scope is scope.UNKNOWN:
            return self.refuse(call, 0, self.without_scope(call))
        try:
            if self._plans is not None and (self.settings.faults or os.access(self._plans, os.F_OK)):
                return self._with_faults(call)
            return self._without_faults(call)
        except recording.DamagedRecordingError as error:
            return self.refuse(call, 0, Miss(kind="damaged", text=f"{error}\n  restore it from version control"))

    def _call(self, request: Request, target: Target) -> Call:
        plain = describe(
            provider=target.provider,
            method=request.method,
            path=target.path,
            query=target.query,
            content_type=request.headers.get("content-type", ""),
            body=request.body,
        )
        active = self.settings.rules
        form = rules.apply(plain, active) if active else plain
        owner = self._owner()
        return Call(
            request=request,
            target=target,
            plain=plain,
            form=form,
            scope=owner,
            identity=Identity(scope=owner.digest, request=digest(form)),
            acted=rules.acted(plain, active) if active else (),
        )

    # -- who owns the call

    def _not_recorded(self, request: Request, target: Target | None) -> Decision:
        owner = scope.current()
        url = self.settings.stack_url
        if url and owner and is_below(request.url, url):
            name = self.settings.header.lower()
            value = scope.to_header(owner, request.headers.get(name), self.settings.run_dir)
            return PassThrough(
                headers={
                    self.settings.header: value,
                    "baggage": scope.to_baggage(owner, request.headers.get("baggage")),
                }
            )
        gives_tokens = target is not None or self.providers.is_token_endpoint(request.url)
        if gives_tokens and self.settings.mode is Mode.REPLAY:
            return Answer(status=200, headers={"content-type": "application/json"}, chunks=(tokens.PLACEHOLDER,))
        return _NOTHING

    def _owner(self) -> Scope:
        """The scope of a call; UNKNOWN when it has none but must have one."""
        return scope.current() or (scope.UNKNOWN if self.requests_with_scope else scope.STACK)

    # -- the ways of a call

    def _with_faults(self, call: Call) -> Decision:
        if self._injector is None:
            from .inject.injector import Injector  # loaded only where something is planned

            self._injector = Injector(self, self.settings.faults)
        return self._injector.answer(call, self._without_faults)

    def _without_faults(self, call: Call) -> Decision:
        return (self._models(call) if call.asks_for_models else None) or self._decide(call)

    def _decide(self, call: Call) -> Decision:
        ordinal = self.ledger.claim(call.scope, call.identity.request)
        if self.settings.rules and self.settings.mode.records:
            folded = self._folded(call)
            if folded is not None:
                return self.refuse(call, ordinal, folded)
        found = self.find(call, ordinal) if self.settings.mode.answers else None
        if found is not None:
            return self.replay(call, ordinal, *found)
        if self.settings.mode.calls_out:
            return self._sending.send(call, ordinal)
        lender = None if self._injector is None else self._injector.lender_of(call)
        explained = miss.explain(
            form=call.form,
            scope=lender or call.scope,
            identity=call.identity,
            ordinal=ordinal,
            store=self.store,
            command=self.settings.command,
        )
        return self.refuse(call, ordinal, explained)

    def find(self, call: Call, ordinal: int) -> tuple[str, recording.Recording] | None:
        """Path and content of the recording that answers the `ordinal`-th of these equal requests."""
        repeats = call.scope == scope.STACK or (
            bool(self.settings.rules) and rules.repeats_last(call.form, self.settings.rules)
        )
        found = self._last(call, ordinal) if repeats else None
        return found or self.store.find(call.scope, call.identity, ordinal) or self._shared(call, ordinal)

    def _last(self, call: Call, ordinal: int) -> tuple[str, recording.Recording] | None:
        """Start-up and background calls, and polls by rule, repeat as often as they like: the last answer stays."""
        key = (call.scope.name, call.identity.request)
        last = self._last_of.get(key, 0)
        if not last:
            # Searched once: another process may have made the calls before this one.
            while self.store.find(call.scope, call.identity, last + 1):
                last += 1
            self._last_of[key] = last
        return self.store.find(call.scope, call.identity, min(ordinal, last)) if last else None

    def _shared(self, call: Call, ordinal: int) -> tuple[str, recording.Recording] | None:
        """By rule: what is recorded for no test answers this one, too, and as often as it is asked."""
        if not self.settings.rules or not rules.is_shared(call.form, self.settings.rules):
            return None
        identity = Identity(scope=scope.STACK.digest, request=call.identity.request)
        return self._last(replace(call, scope=scope.STACK, identity=identity), ordinal)

    def _folded(self, call: Call) -> Miss | None:
        """Two different requests that only a rule makes equal would share one answer: refused, naming the rule."""
        mine = [str(rule["name"]) for rule in call.acted if rule.get("repeat") != "ordinal"]
        other = self.ledger.unfolded(call.scope, call.identity.request, digest(call.plain), mine)
        names = sorted({*mine, *(other or ())})
        if other is None or not names:
            return None
        text = (
            f"{call.shown} of {call.form['provider']} is another request than one before it in this scope, and equal "
            f"to it only by rule {', '.join(names)}\n"
            f"  scope: {call.scope.name}\n"
            f"  give the rule a narrower path, or `repeat: ordinal` where the order of such requests is certain"
        )
        return Miss(kind="folded", text=text)

    def replay(self, call: Call, ordinal: int, path: str, found: recording.Recording) -> Answer:
        """Answer a call from what is recorded."""
        self.note("replayed", call, ordinal, file=path)

        def read_on() -> str:
            text = self.shown(
                f"{path} ends here: the caller left this stream early when it was recorded\n"
                f"  record it: {miss.command_for(self.settings.command, call.scope, Mode.RECORD)}"
            )
            if not client.has_left():
                self.log_miss(call, ordinal, Miss(kind="incomplete", text=text))
            return text

        return answer_of(found["response"], self.settings, key=call.identity.request, n=ordinal, read_on=read_on)

    def _models(self, call: Call) -> Decision | None:
        found = self.store.model_lists(call.identity) if self.settings.mode.answers else None
        if not found:
            return None
        for path, _ in found:
            self.note("replayed", call, 1, file=path)
        body = recording.decode_body({"json": merge_models([item for _, item in found])})
        return Answer(status=200, headers=headers_of(found[0][1]["response"]), chunks=(body,), n=1)

    # -- telling

    def refuse(self, call: Call, ordinal: int, why: Miss) -> Answer:
        """Answer a call with what is wrong with it, and note that."""
        why = Miss(kind=why.kind, text=self.shown(why.text))
        self.log_miss(call, ordinal, why)
        return miss.answer(why)

    def refuse_to_spend(self, call: Call, ordinal: int, why: str) -> Answer:
        """Answer a call for which nothing is left. No recording is missed: the test is not at fault, nor is a file."""
        self.note("budget", call, ordinal, reason=why)
        text = f"{why}\n  {call.shown} of {call.form['provider']} did not go out"
        return miss.answer(Miss(kind="budget", text=text))

    def shown(self, text: str) -> str:
        """Text for a person: without secrets, and with paths as they are typed in the project's folder."""
        shown = str(redact.conceal(text, self.secrets))
        return shown.replace(self.settings.project + "/", "") if self.settings.project else shown

    def log_miss(self, call: Call, ordinal: int, why: Miss) -> None:
        """Write down what a test is going to be told."""
        self.note("missed", call, ordinal, reason=why.kind)
        entry = {"test_id": call.scope.test_id, "scope": call.scope.name, "attempt": call.scope.attempt}
        told = {"kind": why.kind, "message": why.text, "request": call.form}
        # What was refused for a secret in it must not be written down here instead.
        self.ledger.note("misses", {**entry, **redact.conceal(told, self.secrets)})

    def note(self, kind: str, call: Call, ordinal: int, **more: Any) -> None:
        """A line in the calls' journal."""
        entry: dict[str, Any] = {
            "kind": kind,
            "scope": call.scope.name,
            "test_id": call.scope.test_id,
            "attempt": call.scope.attempt,
            "n": ordinal,
            "provider": call.form["provider"],
            "method": call.form["method"],
            "path": call.form["path"],
            "request": call.identity.request[:20],
            **more,
        }
        if self.ledger.has_ended(call.scope):
            entry["late"] = True
        self.ledger.note("calls", entry)
        if self._trace is not None:
            self._trace.decided(self.store, call, ordinal, entry)

    # -- calls under way

    def settle(self, wait: float, scope_name: str | None = None) -> int:
        """Close takes of this process (of one scope, or all) that nobody will read on; how many after waiting."""
        return self._sending.settle(wait, scope_name)

    def has_open(self, owner: Scope) -> bool:
        """Whether a call of the scope is under way in this process."""
        return self._sending.has_open(owner)

    def after_fork(self) -> None:
        """In a child: what the parent has under way is the parent's, and locks are free."""
        self._sending.after_fork()
        self.ledger.after_fork()
