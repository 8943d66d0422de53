"""One recording as lines for a person, and as facts for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from stackproof.recordings import frame
from stackproof.recordings.asking import asked
from stackproof.recordings.comparing import shown_call, shown_vectors
from stackproof.recordings.corpus import Entry
from stackproof.recordings.draft import Wire
from stackproof.recordings.meaning import Meaning, meaning
from stackproof.recordings.wording import counted, one_line, plain, shortened, size

_LINES = 60  # of one text
_WIDTH = 2000  # characters of one line


def lines(entry: Entry, shown: str) -> Iterator[str]:
    """The recording in words. `shown` is its path as the person would type it."""
    content = entry.content
    if content is None:
        return
    yield shown
    yield from _pairs(_whose(content))
    request = content["request"]
    model = f"   model {entry.model}" if entry.model else ""
    url = request.get("url") or entry.endpoint
    yield one_line(f"asked   {entry.method} {url}   provider {entry.provider}{model}")
    yield from _request(content)
    said = meaning(content)
    yield f"answered   {headline(said)}"
    yield from _answer(said)
    yield "recorded"
    yield from _pairs(_origin(content))


def headline(said: Meaning) -> str:
    """Status, form and end of an answer on one line."""
    words = [said.exception] if said.exception else [str(said.status)]
    words.append(said.wire.value)
    if said.is_streaming:
        words.append(f"stream of {counted(said.events, 'event')} in {counted(said.chunks, 'chunk')}")
    if said.finish:
        words.append(f"finish {said.finish}")
    if said.model:
        words.append(f"model {said.model}")
    if not said.complete:
        words.append("the caller left before its end")
    return one_line(", ".join(words))


def event_lines(entry: Entry, shown: str) -> Iterator[str]:
    """The events of a stream, numbered, one a line; a mark where a new chunk begins."""
    if entry.content is None:
        return
    yield f"{shown}: {headline(meaning(entry.content))}"
    response = entry.content["response"]
    for number, event in enumerate(response.get("events") or (), 1):
        value = next((event[key] for key in ("data", "text", "raw", "base64") if key in event), None)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        name = f"{event['event']}  " if "event" in event else ""
        cut = f"  cut at {', '.join(map(str, event['cut']))}" if event.get("cut") else ""
        yield f"{number:>4} {' ' if event.get('joined') else '┄'} {one_line(name + text)}{cut}"


def facts(entry: Entry, shown: str) -> dict[str, Any]:
    """The same as data."""
    content = entry.content
    if content is None:
        return {"file": shown, "damage": entry.damage}
    said, question = meaning(content), asked(content["request"])
    return {
        "file": shown,
        "setup": entry.setup,
        "scope": entry.scope,
        "test_id": entry.test_id or None,
        "provider": entry.provider,
        "method": entry.method,
        "url": content["request"].get("url"),
        "endpoint": entry.endpoint,
        "model": entry.model or None,
        "asked": {
            "turns": [{"role": turn.role, "text": turn.text} for turn in question.turns],
            "tools": list(question.tools),
            "rest": question.rest,
        },
        "answer": answer_facts(said),
        "rules": frame.rules(content),
        "provenance": frame.origin(content),
        "ids": len(frame.ids(content)),
    }


def answer_facts(said: Meaning) -> dict[str, Any]:
    """What an answer says, as data; the keys are always the same."""
    vectors, binary = said.vectors, said.binary
    return {
        "wire": said.wire.value,
        "status": said.status,
        "text": said.text,
        "reasoning": said.reasoning,
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in said.tool_calls],
        "finish": said.finish or None,
        "usage": dict(said.usage),
        "model": said.model or None,
        "error": said.error or None,
        "exception": said.exception or None,
        "embeddings": vectors and {"count": vectors.count, "lengths": list(vectors.lengths), "digest": vectors.digest},
        "binary": binary and {"type": binary.kind, "bytes": binary.size, "digest": binary.digest},
        "json": said.data if said.wire is Wire.JSON else None,
        "streaming": said.is_streaming,
        "events": said.events,
        "chunks": said.chunks,
        "complete": said.complete,
        "fingerprint": said.fingerprint,
    }


def _whose(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    scope, test = str(content.get("scope") or ""), str(content.get("test_id") or "")
    yield ("test" if "::" in scope and not scope.startswith("fixture:") else "scope"), scope or "none (it is shared)"
    if test and test != scope:
        yield "made by", test


def _origin(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    origin = frame.origin(content)
    yield "at", str(origin.get("recorded_at", "?"))
    for key in ("server", "sdk", "recorded_with"):
        if origin.get(key):
            yield key.replace("recorded_with", "with"), str(origin[key])
    if frame.weights(content):
        yield "weights", frame.weights(content)
    if frame.marks(content):
        yield "marks", ", ".join(frame.marks(content)).replace("_", " ")
    yield "rules", ", ".join(frame.rules(content)) or "none"
    yield "ids", f"{counted(len(frame.ids(content)), 'id')} normalised"


def _pairs(pairs: Iterator[tuple[str, str]]) -> Iterator[str]:
    for name, text in pairs:
        yield f"  {name:<8} {one_line(text)}"


def _request(content: Mapping[str, Any]) -> Iterator[str]:
    question = asked(content["request"])
    width = max((len(turn.role) for turn in question.turns), default=0)
    for turn in question.turns:
        yield from _text(f"{one_line(turn.role):<{width}}  ", turn.text)
    if question.tools:
        yield f"  tools: {one_line(', '.join(question.tools))}"
    rest = dict(question.rest)
    if question.turns and rest:
        yield f"  {shortened(one_line(', '.join(f'{key} {json.dumps(rest[key])}' for key in rest)), _WIDTH)}"
    elif rest:
        yield from _text("", json.dumps(rest, indent=2, ensure_ascii=False))
    for key, item in frame.query(content):
        yield f"  ?{one_line(key)}={one_line(item)}"


def _answer(said: Meaning) -> Iterator[str]:
    if said.error:
        yield from _text("error  ", said.error)
    if said.reasoning:
        yield from _text("thought  ", said.reasoning)
    if said.text:
        yield from _text("", said.text)
    for number in range(len(said.tool_calls)):
        yield from _text("→ ", shown_call(said.tool_calls, number) or "")
    if said.vectors:
        yield f"  {shown_vectors(said.vectors)}"
    if said.binary:
        yield f"  {said.binary.kind}, {size(said.binary.size)}, sha256 {said.binary.digest}…"
    if said.wire is Wire.JSON and said.data is not None and not said.error:
        yield from _text("", json.dumps(said.data, indent=2, ensure_ascii=False))
    if said.usage:
        yield f"  usage: {one_line(', '.join(f'{key} {count}' for key, count in said.usage.items()))}"


def _text(head: str, text: str) -> Iterator[str]:
    found = plain(text).split("\n")
    for number, line in enumerate(found[:_LINES]):
        yield f"  {head if number == 0 else ' ' * len(head)}{shortened(line, _WIDTH)}".rstrip()
    if len(found) > _LINES:
        yield f"  … {len(found) - _LINES} more lines; --raw shows everything"
