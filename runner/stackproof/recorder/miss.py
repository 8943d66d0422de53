"""The answer when nothing recorded fits: at once, in words, and so that no SDK tries again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import recording
from .decision import Answer
from .identity import Form, Identity, model_of
from .mode import Mode
from .patching import LIBRARIES
from .scope import UNKNOWN, Scope, current
from .store import Store, ordinal_of

if TYPE_CHECKING:
    from .interaction import Call

STATUS = 424
Kind = Literal[
    "nothing-recorded",
    "no-match",
    "exhausted",
    "no-scope",
    "damaged",
    "incomplete",
    "stale-id",
    "secret",
    "network",
    "folded",
    "unreplayable",
    "budget",
]
_SHOWN_DIFFERENCES = 8
_SHOWN_CHARACTERS = 60
_COMPARED_FILES = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Miss:
    """What went wrong with a call, told for a person (`text`, several lines) and for a program (`kind`)."""

    kind: Kind
    text: str


def headers() -> dict[str, str]:
    """Headers of the answer to a miss: JSON, and "do not retry" as the SDKs read it."""
    return {"content-type": "application/json", "x-should-retry": "false"}


def body(miss: Miss) -> bytes:
    """An OpenAI-shaped error with a top-level `message` beside it, for servers that look for either."""
    error = {"message": miss.text, "type": "stackproof_error", "param": None, "code": f"recording_{miss.kind}"}
    return json.dumps({"error": error, "message": miss.text}).encode()


def answer(miss: Miss) -> Answer:
    """What the caller gets, whatever its library."""
    return Answer(status=STATUS, headers=headers(), chunks=(body(miss),))


def without_scope(call: Call) -> Miss:
    """A call that belongs to no test while tests are being served."""
    if current() is UNKNOWN:
        why = "the request to the stack that caused it carried no test id"
    else:
        why = "it was made outside of any test's context while a test's request was being served"
    text = (
        f"no scope for {call.form['method']} {call.form['path']} of {call.form['provider']}: {why}\n"
        f"  send requests to the stack through {LIBRARIES}, or start threads and tasks within the request"
    )
    return Miss(kind="no-scope", text=text)


def explain(*, form: Form, scope: Scope, identity: Identity, ordinal: int, store: Store, command: str) -> Miss:
    """Look for what comes nearest and say how it differs, path by path, and how to record what is missing."""
    what = f"{form['method']} {form['path']} of {form['provider']}"
    model = model_of(form)
    asked = f"{what} ({f'model {model}, ' if model else ''}call {ordinal} of this request)"
    again = f"  record it: {command_for(command, scope)}"
    names = store.names_of(scope)
    if identity.file_name(1) in names and ordinal > 1:
        count = sum(name.startswith(identity.file_name(1)[:-5]) for name in names)
        told = f"recordings exhausted for {what}: recorded {count}, asked for number {ordinal}"
        text = f"{told}\n  scope: {scope.name}\n{again}"
        return Miss(kind="exhausted", text=text)
    if not names:
        other = _elsewhere(store, scope, identity)
        lines = [f"no recording for {asked}", f"  nothing is recorded for {scope.name}", *other, again]
        return Miss(kind="nothing-recorded", text="\n".join(lines))
    lines = [f"no recording for {asked}", *_nearest(names, form), again]
    return Miss(kind="no-match", text="\n".join(lines))


def command_for(command: str, scope: Scope, mode: Mode = Mode.RECORD_IF_MISSING) -> str:
    """The command that records this scope; `command` is what the run was started with, empty where it is no run."""
    from shlex import quote

    if not command:
        return f"STACKPROOF_INFERENCE_MODE={mode}, or mode={mode.value!r} in the code"

    test = scope.test_id or (scope.name if "::" in scope.name and not scope.name.startswith("fixture:") else None)
    chosen = ""
    if test is not None:
        file, _, rest = test.partition("::")
        chosen = f" --file {quote(file)}"
        # A parameter may hold anything, "::" too.
        name = rest.partition("[")[0].rpartition("::")[2]
        chosen += f" --pattern {quote(name)}" if name else ""
    return f"{command}{chosen} --inference-mode {mode}"


def form_of(request: dict[str, Any]) -> Form:
    """The compared form, as a recording keeps it."""
    return {key: request.get(key) for key in ("provider", "method", "path", "query", "body")}


def differences(recorded: Any, sent: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, recorded, sent) for each place in which two JSON values differ; `ABSENT` where one has nothing."""
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for key in [*recorded, *(key for key in sent if key not in recorded)]:
            below = f"{path}.{key}" if path else str(key)
            yield from differences(recorded.get(key, ABSENT), sent.get(key, ABSENT), below)
    elif isinstance(recorded, list) and isinstance(sent, list):
        for index in range(max(len(recorded), len(sent))):
            pair = [items[index] if index < len(items) else ABSENT for items in (recorded, sent)]
            yield from differences(pair[0], pair[1], f"{path}[{index}]")
    elif type(recorded) is not type(sent) or recorded != sent:
        yield path, recorded, sent


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


def _nearest(names: dict[str, str], form: Form) -> list[str]:
    best: tuple[int, str, list[tuple[str, Any, Any]]] | None = None
    for name in sorted(names, key=lambda name: (ordinal_of(name), name))[:_COMPARED_FILES]:
        try:
            found = recording.read(names[name])
        except recording.DamagedRecordingError:
            continue
        if found is None:
            continue
        differing = list(differences(form_of(found["request"]), form))
        if best is None or len(differing) < best[0]:
            best = (len(differing), names[name], differing)
    if best is None:
        return []
    _, path, differing = best
    if not differing:
        return [f"  the same request is in {path}, and none is there with the number before it"]
    lines = [f"  nearest: {path}, same scope, differs in"]
    width = max(len(_field(where)) for where, _, _ in differing[:_SHOWN_DIFFERENCES])
    for where, recorded, sent in differing[:_SHOWN_DIFFERENCES]:
        lines.append(f"    {_field(where):<{width}}   recorded {_short(recorded)}   sent {_short(sent)}")
    if len(differing) > _SHOWN_DIFFERENCES:
        lines.append(f"    and {len(differing) - _SHOWN_DIFFERENCES} more")
    return lines


def _elsewhere(store: Store, scope: Scope, identity: Identity) -> list[str]:
    for path in store.same_request(scope, identity):
        try:
            found = recording.read(path)
        except recording.DamagedRecordingError:
            continue
        if found is not None:
            return [f"  the same request is recorded for {found.get('scope')}: was the test renamed?"]
    return []


def _field(path: str) -> str:
    return path.removeprefix("body.json.").removeprefix("body.")


def _short(value: Any) -> str:
    text = repr(value) if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
