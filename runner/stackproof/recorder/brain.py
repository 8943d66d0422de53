"""Decides about each call: pass it on, answer it from a file, record it, or refuse it. Knows no HTTP library."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import client, encodings, miss, recording, redact, rules, scope, tokens
from .decision import Answer, Decision, Later, PassThrough, Record
from .identity import Identity, describe, digest
from .interaction import Call, Request, compose, is_model_list, reason_against
from .ledger import Ledger
from .miss import Miss
from .mode import Mode
from .normalise import Ids
from .providers import Providers, Target, is_below
from .realids import Outgoing, RealIds
from .replayed import answer_of, headers_of
from .scope import Scope
from .settings import Settings
from .store import MODELS, Store, digest_of_models, merge_models
from .take import Response, Take

if TYPE_CHECKING:
    from .debug import Trace
    from .inject.injector import Injector

_SHARED_WAIT = 120.0


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
        )
        self.without_scope = miss.without_scope  # what is said of a call that is nobody's
        self.closed = False  # taken out of the process: nobody waits for answers any more
        self.requests_with_scope = 0  # requests to the stack that carry an id and are being served now
        self._secrets = redact.known_values(settings.secrets, environ)
        self._trace: Trace | None = None
        if settings.debug:
            from . import debug  # loaded only where it has something to tell

            self._trace = self.store.trace = debug.trace(settings, environ, self._secrets)
        self._plans = os.path.join(settings.run_dir, "faults") if settings.mode is Mode.REPLAY else None
        self._injector: Injector | None = None
        self._real_ids = RealIds(self.ledger)
        self._open: dict[Take, str] = {}  # strong, so that a call whose caller forgot it still settles
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
            return self._refuse(call, 0, self.without_scope(call))
        try:
            if self._plans is not None and (self.settings.faults or os.access(self._plans, os.F_OK)):
                return self._with_faults(call)
            return self._without_faults(call)
        except recording.DamagedRecordingError as error:
            return self._refuse(call, 0, Miss(kind="damaged", text=f"{error}\n  restore it from version control"))

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
                return self._refuse(call, ordinal, folded)
        if self.settings.mode is Mode.RECORD:
            return self._record(call, ordinal)
        found = self.find(call, ordinal)
        if found is not None:
            return self._replay(call, ordinal, *found)
        if self.settings.mode is Mode.RECORD_IF_MISSING:
            return self._record(call, ordinal)
        lender = None if self._injector is None else self._injector.lender_of(call)
        explained = miss.explain(
            form=call.form,
            scope=lender or call.scope,
            identity=call.identity,
            ordinal=ordinal,
            store=self.store,
            command=self.settings.command,
        )
        return self._refuse(call, ordinal, explained)

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

    def _replay(self, call: Call, ordinal: int, path: str, found: recording.Recording) -> Answer:
        self.note("replayed", call, ordinal, file=path)

        def read_on() -> str:
            text = self.shown(
                f"{path} ends here: the caller left this stream early when it was recorded\n"
                f"  record it: {miss.command_for(self.settings.command, call.scope, Mode.RECORD)}"
            )
            if not client.has_left():
                self._log_miss(call, ordinal, Miss(kind="incomplete", text=text))
            return text

        return answer_of(found["response"], self.settings, key=call.identity.request, n=ordinal, read_on=read_on)

    def _models(self, call: Call) -> Decision | None:
        if self.settings.mode is Mode.RECORD:
            return None
        found = self.store.model_lists(call.identity)
        if not found:
            return None
        for path, _ in found:
            self.note("replayed", call, 1, file=path)
        body = recording.decode_body({"json": merge_models([item for _, item in found])})
        return Answer(status=200, headers=headers_of(found[0][1]["response"]), chunks=(body,), n=1)

    def _record(self, call: Call, ordinal: int) -> Decision:
        outgoing = self._real_ids.put_back(call.scope, call.request.url, call.request.body)
        if outgoing.stale is not None:
            text = (
                f"{call.shown} needs the answer behind {outgoing.stale}, which was "
                f"replayed, so the provider does not know it: record this test anew\n"
                f"  {self.settings.command} --inference-mode record"
            )
            return self._refuse(call, ordinal, Miss(kind="stale-id", text=text))
        # Begun before the question who is first: whoever is told "not you" must see the other's call in flight.
        token = self.ledger.begin(call.scope)
        if call.scope.is_shared and not self.ledger.first(call.scope, call.identity.request, ordinal):
            self.ledger.done(token)
            return self._after_other(call, ordinal, outgoing)
        return self._send(call, ordinal, outgoing, token)

    def _send(self, call: Call, ordinal: int, outgoing: Outgoing, token: str) -> Record:
        started = time.monotonic()
        if self._trace is not None:
            self._trace.sent(self.store, call, ordinal, outgoing.url)

        def on_end(response: Response) -> None:
            try:
                self._keep(call, ordinal, take.ids, response, started)
            finally:
                self._open.pop(take, None)
                self.ledger.done(token)

        take = Take(Ids(call.identity.request, ordinal, outgoing.known), on_end)
        self._open[take] = call.scope.name
        return Record(take=take, url=outgoing.url, body=outgoing.body)

    def _after_other(self, call: Call, ordinal: int, outgoing: Outgoing) -> Later:
        name = call.identity.file_name(ordinal)
        deadline = time.monotonic() + _SHARED_WAIT
        if self._trace is not None:
            self._trace.waits(call, ordinal)

        def poll() -> Answer | Record | None:
            in_time = time.monotonic() < deadline
            waiting = in_time and self.ledger.calls_in_flight(call.scope)
            found = self.store.staged_file(call.scope, name)
            if found is not None:
                return self._replay(call, ordinal, name, found)
            if waiting:
                return None
            # Nobody is at it any more and it was not kept: one of those who wait records it.
            token = self.ledger.begin(call.scope)
            if in_time and not self.ledger.first(call.scope, call.identity.request, ordinal):
                self.ledger.done(token)
                return None
            return self._send(call, ordinal, outgoing, token)

        return Later(poll=poll)

    # -- what is kept

    def _keep(self, call: Call, ordinal: int, ids: Ids, response: Response, started: float) -> None:
        self._real_ids.learn(call.scope, ids.written)
        reason = reason_against(response, record_errors=self.settings.record_errors)
        if reason is not None:
            self._not_kept(call, ordinal)
            self.note("dropped", call, ordinal, reason=reason)
            return
        content = compose(call, response, ids, self.settings)
        hit = redact.find(content, self._secrets)
        if hit is not None:
            self._not_kept(call, ordinal)
            what, where = hit
            text = f"{call.shown} was not written: {what} is in {where}\n  scope: {call.scope.name}"
            self._log_miss(call, ordinal, Miss(kind="secret", text=text))
            return
        if is_model_list(call, response):
            models = digest_of_models(response)
            path = self.store.stage_models(f"{MODELS}-{call.identity.request[:20]}-{models}.json", content)
            self._not_kept(call, ordinal)  # not under this scope and number
        else:
            path = self.store.stage(call.scope, call.identity.file_name(ordinal), content)
            if not self._answers(path, call):
                recording.remove(path)
                self._not_kept(call, ordinal)
                text = f"{call.shown} was not written: its file would not answer the request that made it"
                self._log_miss(call, ordinal, Miss(kind="unreplayable", text=f"{text}\n  scope: {call.scope.name}"))
                return
        seconds = round(time.monotonic() - started, 3)
        encoding = response["headers"].get("content-encoding", "")
        encoded = {"encoded": encoding} if encodings.needs_a_package(encoding) else {}
        self.note("recorded", call, ordinal, file=path, seconds=seconds, **encoded)

    @staticmethod
    def _answers(path: str, call: Call) -> bool:
        """Whether the file, read again, is the recording of this very request, after all masking and encoding."""
        try:
            found = recording.read(path)
        except recording.DamagedRecordingError:
            return False
        return found is not None and digest(miss.form_of(found["request"])) == call.identity.request

    def _not_kept(self, call: Call, ordinal: int) -> None:
        if call.scope.is_shared:
            self.ledger.give_up(call.scope, call.identity.request, ordinal)

    # -- telling

    def _refuse(self, call: Call, ordinal: int, why: Miss) -> Answer:
        why = Miss(kind=why.kind, text=self.shown(why.text))
        self._log_miss(call, ordinal, why)
        return Answer(status=miss.STATUS, headers=miss.headers(), chunks=(miss.body(why),))

    def shown(self, text: str) -> str:
        """Text for a person: without secrets, and with paths as they are typed in the project's folder."""
        shown = str(redact.conceal(text, self._secrets))
        return shown.replace(self.settings.project + "/", "") if self.settings.project else shown

    def _log_miss(self, call: Call, ordinal: int, why: Miss) -> None:
        self.note("missed", call, ordinal, reason=why.kind)
        entry = {"test_id": call.scope.test_id, "scope": call.scope.name, "attempt": call.scope.attempt}
        told = {"kind": why.kind, "message": why.text, "request": call.form}
        # What was refused for a secret in it must not be written down here instead.
        self.ledger.note("misses", {**entry, **redact.conceal(told, self._secrets)})

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

    def settle(self, wait: float, scope_name: str | None = None) -> int:
        """Close takes of this process (of one scope, or all) that nobody will read on; how many after waiting."""
        deadline = time.monotonic() + wait
        while (left := self._open_in(scope_name)) and time.monotonic() < deadline:
            time.sleep(0.01)
        for take in left:
            take.close()
        return len(left)

    def has_open(self, owner: Scope) -> bool:
        """Whether a call of the scope is being recorded in this process."""
        return bool(self._open_in(owner.name))

    def after_fork(self) -> None:
        """In a child: what the parent has under way is the parent's, and locks are free."""
        for take in self._open:
            take.disown()
        self._open.clear()
        self.ledger.after_fork()
        self._real_ids.after_fork()

    def _open_in(self, scope_name: str | None) -> list[Take]:
        # Copied in one step: other threads go on adding.
        return [take for take, name in list(self._open.items()) if scope_name in (None, name)]
