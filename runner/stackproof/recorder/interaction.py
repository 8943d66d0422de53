"""One call to a provider, and what a recording says of it: data only, nothing is decided or written here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from . import recording, redact
from .identity import Form, Identity, digest, model_of
from .normalise import Ids
from .providers import Target
from .scope import Scope
from .settings import Settings
from .take import Response

VERSION = "0.1.0"
# Not worth keeping: what a key, a quota or a bad minute did, not what the provider says to this request.
_TRANSIENT = frozenset({401, 403, 408, 429})
# What SDKs ask again for by themselves, as those of OpenAI and Anthropic do; 5xx beside them.
_RETRIED = frozenset({408, 409, 429})


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A call as every transport can tell it. Headers are asked for by lower-case names; the body is whole."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request and whose it is. `form` is what is compared, `plain` the same before any rule, `acted` the rules."""

    request: Request
    target: Target
    plain: Form
    form: Form
    scope: Scope
    identity: Identity
    acted: Sequence[Mapping[str, Any]] = ()

    @property
    def asks_for_models(self) -> bool:
        """Whether it is a model list: such an answer belongs to no scope and has no number."""
        path: str = self.form["path"]
        return self.form["method"] == "GET" and path.endswith(("/models", "/api/tags"))

    @property
    def shown(self) -> str:
        """Method and path, as messages name the call."""
        return f"{self.form['method']} {self.form['path']}"


def reason_against(response: Response, *, record_errors: bool) -> str | None:
    """Why an answer is not kept; None when it is."""
    status = response["status"]
    if status is None and not response["is_exception"]:
        return "the caller left before there was an answer"
    if not record_errors:
        if response["is_exception"]:
            return f"{response['exception']['kind']} (kept with --record-errors)"
        if status in _TRANSIENT or status >= 500:
            return f"status {status} (kept with --record-errors)"
    if response.get("framing") and status == 200 and not response["events"] and response["complete"]:
        return "an empty event stream is no answer"
    return None


def is_retried(response: Response) -> bool:
    """Whether an equal call after this answer is another attempt: a full or broken server, a lost connection."""
    status = response["status"]
    return response["is_exception"] or (status is not None and (status in _RETRIED or status >= 500))


def costs_tokens(call: Call, response: Response) -> bool:
    """Whether the answer says, or should, what was used for it.

    One that is only fetched, such as a response by its id, says it again and has cost nothing.
    """
    status = response["status"]
    return call.form["method"] == "POST" and status is not None and status < 300


def is_model_list(call: Call, response: Response) -> bool:
    """Whether the answer is a list of models that can be merged with others."""
    body = response.get("body")
    whole = response["status"] == 200 and isinstance(body, dict) and isinstance(body.get("json"), dict)
    return call.asks_for_models and whole


def request_of(form: Form, shown: str) -> dict[str, Any]:
    """What a recording says of a request: `shown` is the provider's URL with the variable in place of the host."""
    query = f"?{'&'.join(f'{k}={v}' for k, v in form['query'])}" if form["query"] else ""
    return {
        "provider": form["provider"],
        "method": form["method"],
        "url": f"{shown}{form['path']}{query}",
        "path": form["path"],
        "query": form["query"],
        "endpoint": form["path"].partition("?")[0],
        "model": model_of(form),
        "headers": {},
        "body": form["body"],
    }


def compose(call: Call, response: Response, ids: Ids, settings: Settings) -> recording.Recording:
    """The recording of an answered call."""
    request = request_of(call.form, call.target.shown)
    if call.acted:
        request["unfolded"] = digest(call.plain)
    return {
        "format": recording.FORMAT,
        "test_id": call.scope.test_id,
        "scope": call.scope.name,
        "request": request,
        "response": _masked(response),
        "rules": [str(rule["name"]) for rule in call.acted],
        "provenance": _provenance(call, settings),
        "id_normalization_mapping": {written: real for real, written in ids.written.items()},
    }


def _masked(response: Response) -> Response:
    body = response.get("body")
    if isinstance(body, dict) and "json" in body:
        return {**response, "body": {"json": redact.response(body["json"])}}
    if "events" in response:
        events = [
            {**event, "data": redact.response(event["data"])} if "data" in event else event
            for event in response["events"]
        ]
        return {**response, "events": events}
    return response


def _provenance(call: Call, settings: Settings) -> dict[str, Any]:
    facts = settings.provenance
    about = (facts.get("models") or {}).get(model_of(call.form) or "", {})
    provenance: dict[str, Any] = {
        "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "server": facts.get("server") or call.target.provider,
        "sdk": call.request.headers.get("user-agent", ""),
        "recorded_with": f"stackproof {VERSION}",
    }
    if facts.get("stack"):
        provenance["stack"] = facts["stack"]
    if about:
        provenance["model"] = dict(about)
    for mark in ("synthetic", "synthetic_weights"):
        if about.get(mark) or facts.get(mark):
            provenance[mark] = True
    return provenance
