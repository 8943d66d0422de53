"""Decides about each call: pass it on, answer it from a file, record it, or refuse it. Knows no HTTP library."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from . import miss, recording, redact, rules, scope
from .identity import Form, Identity, describe, digest, model_of
from .ledger import Ledger
from .miss import Miss
from .mode import Mode
from .normalise import Ids
from .providers import Providers, Target
from .realids import Outgoing, RealIds
from .scope import Scope
from .settings import Settings
from .store import MODELS, Store, merge_models
from .take import Response, Take, is_undone

VERSION = "0.1.0"
# Not worth keeping: what a key, a quota or a bad minute did, not what the provider says to this request.
_TRANSIENT = frozenset({401, 403, 408, 429})
_SHARED_WAIT = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A call as every transport can tell it. Headers are asked for by lower-case names; the body is whole."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class PassThrough:
    """Let the library do what it would have done, with these headers added."""

    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A response that needs no network. `exception` is {kind, message} to raise after the chunks, if any.

    `status` is None when there was no response at all. `read_on` is set where the recorded caller left: whoever reads
    on is told why not by the text that it returns.
    """

    status: int | None
    headers: Mapping[str, str]
    chunks: Iterable[bytes]
    exception: Mapping[str, str] | None = None
    read_on: Callable[[], str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """Send it, feed the take, hand on what it gives. `url` and `body` are what goes out; None: as it is."""

    take: Take
    url: str | None
    body: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Later:
    """Another process records this very answer now: ask `poll` again until it gives the decision."""

    poll: Callable[[], PassThrough | Answer | Record | None]


Decision = PassThrough | Answer | Record | Later
_NOTHING = PassThrough(headers={})


class Brain:
    """One for each installation; safe to ask from many threads and tasks."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.providers = Providers(settings.providers)
        self.ledger = Ledger(settings.run_dir)
        self.store = Store(settings.recordings, settings.setup, settings.run_dir, settings.integration_root)
        self.requests_with_scope = 0  # requests to the stack that carry an id and are being served now
        self._secrets = redact.known_values(settings.secrets, environ)
        self._real_ids = RealIds(self.ledger)
        self._open: set[Take] = set()  # strong, so that a call whose caller forgot it still settles

    def ask(self, request: Request) -> Decision:
        """What to do with a call. Never raises for anything that is wrong with recordings: that is an answer, too."""
        if self.settings.mode is Mode.LIVE:
            return _NOTHING
        target = self.providers.match(request.url)
        if target is None:
            return self._not_a_provider(request)
        form = describe(
            provider=target.provider,
            method=request.method,
            path=target.path,
            query=target.query,
            content_type=request.headers.get("content-type", ""),
            body=request.body,
            active=self.settings.rules,
        )
        owner = self._owner()
        identity = Identity(scope=owner.digest if owner else "", request=digest(form))
        call = _Call(request=request, target=target, form=form, scope=owner or scope.UNKNOWN, identity=identity)
        if owner is None:
            return self._refuse(call, 0, _without_scope(call))
        try:
            if request.method.upper() == "GET" and target.path.endswith(("/models", "/api/tags")):
                listed = self._models(call)
                if listed is not None:
                    return listed
            return self._decide(call)
        except recording.DamagedRecordingError as error:
            return self._refuse(call, 0, Miss(kind="damaged", text=f"{error}\n  restore it from version control"))

    # -- who owns the call

    def _not_a_provider(self, request: Request) -> Decision:
        owner = scope.current()
        url = self.settings.stack_url
        if url and owner and (request.url == url or request.url.startswith((url + "/", url + "?"))):
            name = self.settings.header.lower()
            value = scope.to_header(owner, request.headers.get(name), self.settings.run_dir)
            return PassThrough(headers={self.settings.header: value, "baggage": _baggage(request, owner)})
        if self.settings.mode is Mode.REPLAY and self.providers.is_token_endpoint(request.url):
            token = b'{"access_token":"stackproof-replay","token_type":"Bearer","expires_in":3600}'
            return Answer(status=200, headers={"content-type": "application/json"}, chunks=(token,))
        return _NOTHING

    def _owner(self) -> Scope | None:
        """The scope of a call; None when it has none but must have one."""
        owner = scope.current()
        if owner is not None:
            return None if owner is scope.UNKNOWN else owner
        return None if self.requests_with_scope else scope.STACK

    # -- the ways of a call

    def _decide(self, call: _Call) -> Decision:
        ordinal = self.ledger.claim(call.scope, call.identity.request)
        if self.settings.mode is Mode.RECORD:
            return self._record(call, ordinal)
        found = self.store.find(call.scope, call.identity, ordinal)
        if found is None and call.scope == scope.STACK and ordinal > 1:
            # Start-up and background calls repeat as often as they like: the last answer stays.
            found = next(
                (hit for n in range(ordinal - 1, 0, -1) if (hit := self.store.find(call.scope, call.identity, n))), None
            )
        self._debug(call, ordinal, found[0] if found else None)
        if found is not None:
            return self._replay(call, ordinal, *found)
        if self.settings.mode is Mode.RECORD_IF_MISSING:
            return self._record(call, ordinal)
        explained = miss.explain(
            form=call.form,
            scope=call.scope,
            identity=call.identity,
            ordinal=ordinal,
            store=self.store,
            command=self.settings.command,
        )
        return self._refuse(call, ordinal, explained)

    def _replay(self, call: _Call, ordinal: int, path: str, found: recording.Recording) -> Answer:
        self._note("replayed", call, ordinal, file=path)
        response = found["response"]
        headers = {key: value for key, value in response["headers"].items() if not is_undone(key, value)}
        if "retry-after" in headers or response["status"] in (408, 409, 429) or (response["status"] or 0) >= 500:
            headers["retry-after-ms"] = "1"  # the SDK acts as it did, without the wait
        left_early = not response["complete"] and not response["is_exception"]

        def read_on() -> str:
            text = self._shown(
                f"{path} ends here: the caller left this stream early when it was recorded\n"
                f"  record it: {miss.command_for(self.settings.command, call.scope)}"
            )
            self._log_miss(call, ordinal, Miss(kind="incomplete", text=text))
            return text

        return Answer(
            status=response["status"],
            headers=headers,
            chunks=recording.chunks_of(response),
            exception=response["exception"],
            read_on=read_on if left_early else None,
        )

    def _models(self, call: _Call) -> Decision | None:
        if self.settings.mode is Mode.RECORD:
            return None
        found = self.store.model_lists(call.identity)
        if not found:
            return None
        for path, _ in found:
            self._note("replayed", call, 1, file=path)
        body = recording.decode_body({"json": merge_models([item for _, item in found])})
        return Answer(status=200, headers=found[0][1]["response"]["headers"], chunks=(body,))

    def _record(self, call: _Call, ordinal: int) -> Decision:
        outgoing = self._real_ids.put_back(call.scope, call.request.url, call.request.body)
        if outgoing.stale is not None:
            text = (
                f"{call.form['method']} {call.form['path']} needs the answer behind {outgoing.stale}, which was "
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

    def _send(self, call: _Call, ordinal: int, outgoing: Outgoing, token: str) -> Record:
        started = time.monotonic()

        def on_end(response: Response) -> None:
            try:
                self._keep(call, ordinal, take.ids, response, started)
            finally:
                self._open.discard(take)
                self.ledger.done(token)

        take = Take(Ids(call.identity.request, ordinal, outgoing.known), on_end)
        self._open.add(take)
        return Record(take=take, url=outgoing.url, body=outgoing.body)

    def _after_other(self, call: _Call, ordinal: int, outgoing: Outgoing) -> Later:
        name = call.identity.file_name(ordinal)
        deadline = time.monotonic() + _SHARED_WAIT

        def poll() -> Answer | Record | None:
            waiting = self.ledger.calls_in_flight(call.scope) and time.monotonic() < deadline
            found = self.store.staged_file(call.scope, name)
            if found is not None:
                return self._replay(call, ordinal, name, found)
            # Nobody is at it any more and it was not kept: then it is recorded here.
            return None if waiting else self._send(call, ordinal, outgoing, self.ledger.begin(call.scope))

        return Later(poll=poll)

    # -- what is kept

    def _keep(self, call: _Call, ordinal: int, ids: Ids, response: Response, started: float) -> None:
        self._real_ids.learn(call.scope, ids.written)
        reason = self._reason_against(response)
        if reason is not None:
            if call.scope.is_shared:
                self.ledger.give_up(call.scope, call.identity.request, ordinal)
            self._note("dropped", call, ordinal, reason=reason)
            return
        content = self._recording(call, response, ids)
        hit = redact.find(content, self._secrets)
        if hit is not None:
            what, where = hit
            text = (
                f"{call.form['method']} {call.form['path']} was not written: {what} is in {where}\n"
                f"  scope: {call.scope.name}"
            )
            self._log_miss(call, ordinal, Miss(kind="secret", text=text))
            return
        name = call.identity.file_name(ordinal)
        if self._is_model_list(call, response):
            models = digest_of_models(response)
            path = self.store.stage_models(f"{MODELS}-{call.identity.request[:20]}-{models}.json", content)
        else:
            path = self.store.stage(call.scope, name, content)
        self._note("recorded", call, ordinal, file=path, seconds=round(time.monotonic() - started, 3))

    def _reason_against(self, response: Response) -> str | None:
        status = response["status"]
        if status is None and not response["is_exception"]:
            return "the caller left before there was an answer"
        if not self.settings.record_errors:
            if response["is_exception"]:
                return f"{response['exception']['kind']} (kept with --record-errors)"
            if status in _TRANSIENT or status >= 500:
                return f"status {status} (kept with --record-errors)"
        if response.get("framing") and status == 200 and not response["events"] and response["complete"]:
            return "an empty event stream is no answer"
        return None

    @staticmethod
    def _is_model_list(call: _Call, response: Response) -> bool:
        listed = call.form["method"] == "GET" and call.form["path"].endswith(("/models", "/api/tags"))
        body = response.get("body")
        return listed and response["status"] == 200 and isinstance(body, dict) and isinstance(body.get("json"), dict)

    def _recording(self, call: _Call, response: Response, ids: Ids) -> recording.Recording:
        facts = self.settings.provenance
        model = model_of(call.form)
        about = (facts.get("models") or {}).get(model or "", {})
        provenance: dict[str, Any] = {
            "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "server": facts.get("server") or call.target.provider,
            "sdk": call.request.headers.get("user-agent", ""),
            "recorded_with": f"stackproof {VERSION}",
        }
        if about:
            provenance["model"] = dict(about)
        for mark in ("synthetic", "synthetic_weights"):
            if about.get(mark) or facts.get(mark):
                provenance[mark] = True
        query = f"?{'&'.join(f'{k}={v}' for k, v in call.form['query'])}" if call.form["query"] else ""
        return {
            "format": recording.FORMAT,
            "test_id": call.scope.test_id,
            "scope": call.scope.name,
            "request": {
                "provider": call.form["provider"],
                "method": call.form["method"],
                "url": f"{call.target.shown}{call.form['path']}{query}",
                "path": call.form["path"],
                "query": call.form["query"],
                "endpoint": call.form["path"].partition("?")[0],
                "model": model,
                "headers": {},
                "body": call.form["body"],
            },
            "response": response,
            "rules": rules.acted(call.form, self.settings.rules) if self.settings.rules else [],
            "provenance": provenance,
            "id_normalization_mapping": {written: real for real, written in ids.written.items()},
        }

    # -- telling

    def _refuse(self, call: _Call, ordinal: int, why: Miss) -> Answer:
        why = Miss(kind=why.kind, text=self._shown(why.text))
        self._log_miss(call, ordinal, why)
        return Answer(status=miss.STATUS, headers=miss.headers(), chunks=(miss.body(why),))

    def _shown(self, text: str) -> str:
        """Paths as a person in the project's folder would type them, from whatever folder this process runs in."""
        return text.replace(self.settings.project + "/", "") if self.settings.project else text

    def _log_miss(self, call: _Call, ordinal: int, why: Miss) -> None:
        self._note("missed", call, ordinal, reason=why.kind)
        shown = {**call.form, "query": call.form["query"]}
        entry = {"test_id": call.scope.test_id, "scope": call.scope.name, "attempt": call.scope.attempt}
        self.ledger.note("misses", {**entry, "kind": why.kind, "message": why.text, "request": shown})

    def _note(self, kind: str, call: _Call, ordinal: int, **more: Any) -> None:
        entry: dict[str, Any] = {
            "kind": kind,
            "scope": call.scope.name,
            "test_id": call.scope.test_id,
            "attempt": call.scope.attempt,
            "n": ordinal,
            "provider": call.form["provider"],
            "method": call.form["method"],
            "path": call.form["path"],
            **more,
        }
        if self.ledger.has_ended(call.scope):
            entry["late"] = True
        self.ledger.note("calls", entry)
        if self.settings.debug:
            print(f"stackproof: {kind} {call.form['method']} {call.form['path']} {more}", file=sys.stderr)

    def _debug(self, call: _Call, ordinal: int, path: str | None) -> None:
        if not self.settings.debug:
            return
        name = call.identity.file_name(ordinal)
        looked = ", ".join(self.store.folders(call.scope))
        print(
            f"stackproof: scope {call.scope.name!r} request {call.identity.request[:20]} number {ordinal}: "
            f"{name} in {looked}: {path or 'not there'}",
            file=sys.stderr,
        )

    def settle(self, wait: float) -> int:
        """Close takes of this process that nobody will read on; how many there were after waiting."""
        deadline = time.monotonic() + wait
        while self._open and time.monotonic() < deadline:
            time.sleep(0.01)
        left = list(self._open)  # one step: other threads go on adding
        for take in left:
            take.close()
        return len(left)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    request: Request
    target: Target
    form: Form
    scope: Scope
    identity: Identity


def digest_of_models(response: Response) -> str:
    """Twelve digits of the set of model ids in a model list."""
    from hashlib import sha256

    body = response["body"]["json"]
    items = body.get("data") or body.get("models") or []
    names = sorted(str(item.get("id") or item.get("model") or item.get("name")) for item in items)
    return sha256("\n".join(names).encode()).hexdigest()[:12]


def _baggage(request: Request, owner: Scope) -> str:
    from urllib.parse import quote

    ours = f"stackproof.scope={quote(owner.name, safe='')}"
    present = request.headers.get("baggage")
    return f"{present},{ours}" if present else ours


def _without_scope(call: _Call) -> Miss:
    if scope.current() is scope.UNKNOWN:
        why = "the request to the stack that caused it carried no test id"
    else:
        why = "it was made outside of any test's context while a test's request was being served"
    text = (
        f"no scope for {call.form['method']} {call.form['path']} of {call.form['provider']}: {why}\n"
        f"  send requests to the stack through httpx or httpx2, or start threads and tasks within the request"
    )
    return Miss(kind="no-scope", text=text)
