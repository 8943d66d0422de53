"""What is written of an answer: a staged recording, or in `verify` a file of the run that no recording comes of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import encodings, miss, recording, redact
from .identity import digest
from .interaction import Call, compose, is_model_list, reason_against
from .miss import Miss
from .mode import Mode
from .normalise import Ids
from .recording import Recording
from .store import MODELS, digest_of_models
from .take import Response

if TYPE_CHECKING:
    from .brain import Brain


def write(brain: Brain, call: Call, ordinal: int, response: Response, *, ids: Ids, facts: Mapping[str, Any]) -> None:
    """Write it and say so in the calls' journal. facts: status, seconds and what else that line says of the call."""
    observes = brain.settings.mode is Mode.VERIFY
    reason = reason_against(response, record_errors=observes or brain.settings.record_errors)
    if reason is not None:
        give_up(brain, call, ordinal)
        brain.note("dropped", call, ordinal, reason=reason, **facts)
        return
    content = compose(call, response, ids, brain.settings)
    if observes:
        _observe(brain, call, ordinal, content, facts)
    else:
        _record(brain, call, ordinal, content, facts)


def give_up(brain: Brain, call: Call, ordinal: int) -> None:
    """No file with this number comes of the call: of a shared scope, another process may ask."""
    if call.scope.is_shared:
        brain.ledger.give_up(call.scope, call.identity.request, ordinal)


def _record(brain: Brain, call: Call, ordinal: int, content: Recording, facts: Mapping[str, Any]) -> None:
    hit = redact.find(content, brain.secrets)
    if hit is not None:
        give_up(brain, call, ordinal)
        what, where = hit
        text = f"{call.shown} was not written: {what} is in {where}\n  scope: {call.scope.name}"
        brain.log_miss(call, ordinal, Miss(kind="secret", text=text))
        return
    path = _stage(brain, call, ordinal, content)
    if not is_model_list(call, content["response"]) and not _answers(path, call):
        recording.remove(path)
        give_up(brain, call, ordinal)
        text = f"{call.shown} was not written: its file would not answer the request that made it"
        brain.log_miss(call, ordinal, Miss(kind="unreplayable", text=f"{text}\n  scope: {call.scope.name}"))
        return
    encoding = content["response"]["headers"].get("content-encoding", "")
    encoded = {"encoded": encoding} if encodings.needs_a_package(encoding) else {}
    brain.note("recorded", call, ordinal, file=path, **facts, **encoded)


def _observe(brain: Brain, call: Call, ordinal: int, content: Recording, facts: Mapping[str, Any]) -> None:
    """Whatever the provider said, errors too: they are what a comparison is for.

    A refused key is often quoted by the refusal. It is masked, and the test is not failed for it: nothing of this goes
    into version control.
    """
    if redact.find(content, brain.secrets) is not None:
        content = redact.conceal(content, brain.secrets)
    if (hit := redact.find(content, brain.secrets)) is not None:
        give_up(brain, call, ordinal)
        brain.note("observed", call, ordinal, reason=f"not written: {hit[0]} is in {hit[1]}", **facts)
        return
    brain.note("observed", call, ordinal, file=_stage(brain, call, ordinal, content), **facts)


def _stage(brain: Brain, call: Call, ordinal: int, content: Recording) -> str:
    """Write the file; its path. A set of models has neither scope nor number."""
    if not is_model_list(call, content["response"]):
        return brain.store.stage(call.scope, call.identity.file_name(ordinal), content)
    name = f"{MODELS}-{call.identity.request[:20]}-{digest_of_models(content['response'])}.json"
    path = brain.store.stage_models(name, content)
    give_up(brain, call, ordinal)
    return path


def _answers(path: str, call: Call) -> bool:
    """Whether the file, read again, is the recording of this very request, after all masking and encoding."""
    try:
        found = recording.read(path)
    except recording.DamagedRecordingError:
        return False
    return found is not None and digest(miss.form_of(found["request"])) == call.identity.request
