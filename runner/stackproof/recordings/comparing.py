"""How two recordings differ in meaning, and in what else where they mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stackproof.recorder.miss import differences, form_of
from stackproof.recorder.normalise import WRITTEN
from stackproof.recorder.recording import Recording
from stackproof.recordings import frame
from stackproof.recordings.draft import ToolCall, Vectors, Wire
from stackproof.recordings.meaning import Meaning, meaning

# Where in the JSON of an answer stands what `Meaning` has taken out of it: said once, not twice. First what is told
# with all that is below it, then what is told as a whole where one side lacks it.
_TOLD = {
    Wire.CHAT: (
        (
            r"created|model|usage|timings|choices\[\d+\]\.(finish_reason|text|message\.(content|reasoning(_content)?|refusal|"
            r"tool_calls|function_call))"
        ),
        r"choices\[\d+\](\.message)?",
    ),
    Wire.RESPONSE: (
        (
            r"created_at|completed_at|model|usage|status|incomplete_details|error|output\[\d+\]\.(type|name|arguments|input|"
            r"queries|action|code|content\[\d+\]\.(text|refusal)|summary\[\d+\]\.text)"
        ),
        r"output\[\d+\](\.(content|summary)\[\d+\])?",
    ),
    Wire.MESSAGE: (r"model|usage|stop_reason|content\[\d+\]\.(type|text|thinking|name|input)", r"content\[\d+\]"),
    Wire.OLLAMA: (
        (
            r"model|created_at|response|thinking|done_reason|\w+_duration|(prompt_)?eval_count|message\.(content|thinking|"
            r"tool_calls)"
        ),
        r"message",
    ),
    Wire.GEMINI: (
        r"usageMetadata|modelVersion|candidates\[\d+\]\.(finishReason|content\.parts\[\d+\]\.(text|functionCall|thought))",
        r"candidates\[\d+\](\.content\.parts\[\d+\])?",
    ),
    Wire.INTERACTION: (
        r"model|created|updated|status|usage|(steps|outputs)\[\d+\]\.(type|name|arguments|content)",
        r"(steps|outputs)\[\d+\]",
    ),
    Wire.VECTORS: (
        r"model|usage|\w+_duration|prompt_eval_count",
        r"data",
    ),
}
_VECTORS = ("data", "embeddings", "embedding")
_TOLD_PATHS = {wire: re.compile(rf"(?:{below})(?:[.\[].*)?|{whole}") for wire, (below, whole) in _TOLD.items()}


_EVENTS = "events"


class Kind(StrEnum):
    """What became of a recording, by what matters most first."""

    DRIFT = "answer changed, request did not"
    BOTH = "request and answer changed"
    REQUEST = "request changed, answer did not"
    MOVED = "same request and answer under another name"
    BYTES = "equal in meaning"
    EQUAL = "equal"
    ADDED = "added"
    REMOVED = "removed"
    DAMAGED = "damaged, not compared"

    @property
    def is_change(self) -> bool:
        """Whether something changed in meaning; what only has another name or other bytes has not."""
        return self not in (Kind.MOVED, Kind.BYTES, Kind.EQUAL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One place that differs: a JSON path or the name of a fact, and its values; `miss.ABSENT` where there is none."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """How two recordings differ.

    `request` by JSON path of the compared form; `has_other_ids` where only ids that earlier answers gave differ.
    `texts`: pairs of whole texts, by name (text, reasoning, body), to be shown as a text diff. `answer`: facts such as
    status, finish reason, tool calls, usage. `rest`: by JSON path, what no fact stands for. `place`: scope, provider.
    `provenance`: server, marks. `other`: what else differs in the files, in words.
    """

    request: tuple[Field, ...] = ()
    has_other_ids: bool = False
    texts: tuple[Field, ...] = ()
    answer: tuple[Field, ...] = ()
    rest: tuple[Field, ...] = ()
    place: tuple[Field, ...] = ()
    provenance: tuple[Field, ...] = ()
    other: tuple[str, ...] = ()

    @property
    def answer_changed(self) -> bool:
        """Whether the answer says another thing; the same in more or fewer events is no other thing."""
        return bool(self.texts or self.rest or any(item.path != _EVENTS for item in self.answer))

    @property
    def kind(self) -> Kind:
        """What became of it."""
        if self.answer_changed:
            return Kind.BOTH if self.request else Kind.DRIFT
        if self.request:
            return Kind.REQUEST
        if self.place or self.has_other_ids:
            return Kind.MOVED
        return Kind.BYTES if self.other else Kind.EQUAL


def compare(before: Recording, after: Recording) -> Difference:
    """How `after` differs from `before`."""
    said, says = meaning(before), meaning(after)
    asked = [Field(path=path, before=old, after=new) for path, old, new in _request_differences(before, after)]
    # Another provider is another place to ask the same thing: setups can be compared with each other.
    elsewhere = tuple(field for field in asked if field.path == "provider")
    request = tuple(field for field in asked if field not in elsewhere and not _same_id(field.before, field.after))
    texts = tuple(
        Field(path=name, before=old, after=new)
        for name, old, new in (("text", said.text, says.text), ("reasoning", said.reasoning, says.reasoning))
        if old != new
    )
    return Difference(
        request=request,
        has_other_ids=len(asked) > len(elsewhere) and not request,
        texts=texts,
        answer=tuple(_facts(said, says)),
        rest=tuple(_rest(said, says, before, after)),
        place=(*_fields(before, after, ("scope",)), *elsewhere),
        provenance=_fields(frame.origin(before), frame.origin(after), ("server", *frame.MARKS)),
        other=tuple(_other(before, after)),
    )


def _request_differences(before: Recording, after: Recording) -> Iterator[tuple[str, Any, Any]]:
    for path, old, new in differences(form_of(before["request"]), form_of(after["request"])):
        yield path.removeprefix("body.json."), old, new


def _same_id(old: Any, new: Any) -> bool:
    """Ids that were written when recording follow from the request: another one is no other meaning."""
    both = (old, new)
    return all(isinstance(item, str) and WRITTEN.fullmatch(item) for item in both)


def _fields(before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Field, ...]:
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return tuple(Field(path=name, before=old, after=new) for name, old, new in pairs if old != new)


def _facts(said: Meaning, says: Meaning) -> Iterator[Field]:
    for name, old, new in (
        ("status", said.status, says.status),
        ("kind of answer", said.wire, says.wire),
        ("error", said.error, says.error),
        ("exception", said.exception, says.exception),
        ("finish reason", said.finish, says.finish),
        ("model", said.model, says.model),
        ("streamed", said.is_streaming, says.is_streaming),
        (_EVENTS, said.events, says.events),
        ("read to the end", said.complete, says.complete),
        ("embeddings", shown_vectors(said.vectors), shown_vectors(says.vectors)),
        ("body", said.binary and said.binary.digest, says.binary and says.binary.digest),
    ):
        if old != new:
            yield Field(path=name, before=old, after=new)
    if said.vectors and says.vectors and said.vectors.digest != says.vectors.digest:
        apart = _distance(said.vectors.sample, says.vectors.sample)
        if apart is not None:
            yield Field(path="embeddings, furthest numbers apart", before=0.0, after=apart)
        elif shown_vectors(said.vectors) == shown_vectors(says.vectors):
            yield Field(path="embeddings", before=said.vectors.digest[:12], after=says.vectors.digest[:12])
    for number in range(max(len(said.tool_calls), len(says.tool_calls))):
        old, new = (shown_call(side.tool_calls, number) for side in (said, says))
        if old != new:
            yield Field(path=f"tool call {number + 1}", before=old, after=new)
    for name in dict.fromkeys((*said.usage, *says.usage)):
        if said.usage.get(name) != says.usage.get(name):
            yield Field(path=f"usage.{name}", before=said.usage.get(name), after=says.usage.get(name))


def shown_vectors(found: Vectors | None) -> str:
    """`768 floats`, `3 × 768 floats`; empty where there are none."""
    if found is None:
        return ""
    lengths = " or ".join(map(str, found.lengths))
    return f"{lengths} floats" if found.count == 1 else f"{found.count} × {lengths} floats"


def shown_call(calls: tuple[ToolCall, ...], number: int) -> str | None:
    """A tool call as it would be written in code; None where there is none of that number."""
    return f"{calls[number].name}({calls[number].arguments})" if number < len(calls) else None


def _distance(old: tuple[float, ...], new: tuple[float, ...]) -> float | None:
    if not old or len(old) != len(new):
        return None
    try:
        return max(abs(a - b) for a, b in zip(old, new, strict=True)) or None
    except OverflowError:
        return None


def _rest(said: Meaning, says: Meaning, before: Recording, after: Recording) -> Iterator[Field]:
    lists_models = str(after["request"].get("path")).endswith("/models")
    if said.wire is says.wire:
        told = _TOLD_PATHS.get(said.wire)
        sides = (_without_vectors(side.data) if side.wire is Wire.VECTORS else side.data for side in (said, says))
        for path, old, new in differences(*sides):
            is_told = told is not None and told.fullmatch(path)
            error = path.startswith("error") and said.error != says.error
            # Some servers date each model of a list with the time of their own start.
            dated = lists_models and path.endswith("].created")
            if not is_told and not error and not dated and not _same_id(old, new):
                yield Field(path=path or "body", before=old, after=new)
    for path, old, new in differences(before["response"]["headers"], after["response"]["headers"]):
        yield Field(path=f"header {path}", before=old, after=new)


def _without_vectors(data: Any) -> Any:
    """What is left of embeddings to be compared place by place: thousands of numbers are told as one fact."""
    return {key: item for key, item in data.items() if key not in _VECTORS} if isinstance(data, dict) else data


def _other(before: Recording, after: Recording) -> Iterator[str]:
    old, new = before["response"], after["response"]
    counts = [len(side["events"]) for side in (old, new) if "events" in side]
    if len(counts) == 2 and counts[0] != counts[1]:
        yield f"number of events ({counts[0]} → {counts[1]})"
    if _without_cuts(old.get("events")) != _without_cuts(new.get("events")) or old.get("body") != new.get("body"):
        yield "ids and pieces of the answer"
    if old.get("cut") != new.get("cut") or _cuts(old.get("events")) != _cuts(new.get("events")):
        yield "chunk edges"
    for what, left, right in (
        ("waits", old.get("waits"), new.get("waits")),
        ("rules", before.get("rules"), after.get("rules")),
        ("provenance", before.get("provenance"), after.get("provenance")),
        ("id mapping", before.get("id_normalization_mapping"), after.get("id_normalization_mapping")),
        ("test id", before.get("test_id"), after.get("test_id")),
        ("words about the request", _words(before), _words(after)),
    ):
        if left != right:
            yield what


def _words(content: Recording) -> dict[str, Any]:
    form = form_of(content["request"])
    return {key: item for key, item in content["request"].items() if key not in form}


def _without_cuts(events: Any) -> Any:
    return [{k: v for k, v in event.items() if k not in ("cut", "joined")} for event in events or ()]


def _cuts(events: Any) -> Any:
    return [(event.get("cut"), event.get("joined")) for event in events or ()]
